// Package otlp turns the spans and log records of agents into events. It reads
// requests of OTLP/HTTP in JSON and protobuf.
//
// A trace is a run with the trace id as its id. Its session is the conversation that
// the spans name. Spans are identified by the GenAI attributes of OpenTelemetry in old
// and new spellings, and by the attributes of OpenInference, OpenLLMetry, Langfuse and
// the AI SDK. The events of a span are
//
//	a model call       step.finished
//	a tool call        tool.before and tool.result
//	an agent           run.started and run.finished: the run of the trace for the
//	                   root, or else a run below it
//	a root of these    run.started and run.finished
//	anything else      custom
//
// A log record of Claude Code, Gemini CLI or Codex names its session, which is the
// same run as for their hooks. Other records belong to the run of their trace.
//
// The events of a span or record do not depend on others. One of its events has the
// whole span or record in data.raw, with the resource and scope. A resource or a scope
// longer than 4 KiB is a separate event, which raw names. Ids are derived from the
// tenant, the ids of a span and the content, so a repeated request gives the same
// events.
package otlp
