// Package otlp turns the spans and log records of agents into events. It reads
// requests of OTLP/HTTP in JSON and protobuf.
//
// A trace is a run, and the trace id is the id of the run. The session is the
// conversation that the spans name. Spans are recognized by the GenAI attributes of
// OpenTelemetry in old and new spellings, and by the attributes of OpenInference,
// OpenLLMetry, Langfuse and the AI SDK. The events of a span are
//
//	a model call       step.finished
//	a tool call        tool.before and tool.result
//	an agent           run.started and run.finished: the run of the trace for the
//	                   root, or else a run below it
//	a root of these    run.started and run.finished, in addition
//	anything else      custom
//
// A log record of Claude Code, Gemini CLI or Codex contains its session. The session
// is the same run as for the hooks of that tool. Other records belong to the run of
// their trace.
//
// The events of a span or record do not depend on others. One of its events has the
// whole span or record in data.raw, with the resource and scope. A resource or a scope
// longer than 4 KiB becomes a separate event, and raw contains only its id. Event ids
// are derived from the tenant, the ids of a span and the content, so a repeated
// request gives the same events.
package otlp
