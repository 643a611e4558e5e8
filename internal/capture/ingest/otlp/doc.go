// Package otlp turns the spans and log records of agents into events. It reads
// requests of OTLP/HTTP in JSON and protobuf.
//
// A trace is a run with the id of the trace. The session is the conversation that the spans name.
// Spans are recognized by the GenAI attributes of OpenTelemetry, and by the attributes of
// OpenInference, OpenLLMetry, Langfuse and the AI SDK. The events of a span are
//
//	a model call       step.finished
//	a tool call        tool.before and tool.result
//	an agent           run.started and run.finished: the run of the trace for the
//	                   root, or else a run below it
//	a root of these    run.started and run.finished, in addition
//	anything else      custom
//
// A log record of Claude Code, Gemini CLI or Codex belongs to the same run as the hooks of
// that session. Other records belong to the run of their trace.
//
// For each span or record, one event contains all of it in data.raw. A resource or a scope longer
// than 4 KiB becomes a separate event, to which raw refers. A repeated request gives the same
// events.
package otlp
