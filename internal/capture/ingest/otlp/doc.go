// Package otlp reads what OpenTelemetry exporters send over OTLP/HTTP, in JSON
// and protobuf, and turns the spans and log records of agents into events.
//
// A trace is a run, named by its trace id; its session is the conversation that
// the spans name. Of a span that says what it is, by the GenAI attributes of
// OpenTelemetry in their old and new spellings, or by those of OpenInference,
// OpenLLMetry, Langfuse and the AI SDK, come:
//
//	a model call       step.finished
//	a tool call        tool.before and tool.result
//	an agent           run.started and run.finished: of the trace's run at its
//	                   root, else of a run of its own below the trace's
//	a root of these    run.started and run.finished
//	anything else      custom
//
// A log record of Claude Code, Gemini CLI or Codex says which session it is of:
// that is its run, as it is for their hooks. Other records belong to the run of
// their trace.
//
// Each span and record is looked at alone: what comes of it does not depend on
// what else came, before or in the same request. It is whole, with its resource
// and scope, in data.raw of the last of its events; a resource or a scope that is
// longer than 4 KiB has an event of its own, which raw names. Ids are derived from tenant,
// place and content, so that what an exporter sends again gives the same events.
package otlp
