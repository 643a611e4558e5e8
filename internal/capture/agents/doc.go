// Package agents reads the hook payloads of coding agents and encodes the answers. It
// supports Claude Code, Codex, Gemini CLI, Copilot CLI and OpenCode.
//
// A payload becomes events that do not depend on the tool. A session is a run, and so
// is a sub-agent. The package derives facts that a tool does not send. It derives the
// status of a call from the output, and the call of a result from the order of
// arrival. The time is the time of receipt. The whole payload stays in data.raw of its
// main event. An unknown payload becomes a custom event.
//
// Handling a payload takes four steps. Parse it with [Tool.Parse]. If the tool waits
// for a decision, ask hooks with the Document. Record the events of [Payload.Decided],
// or Events if no hook was asked. Print the answer of [Tool.Reply]. None of these
// steps fails for a JSON object.
//
// Parsing a payload again gives the same event ids, so a repeated payload is recorded
// once. Different decisions about one payload are separate events of the same call. A
// payload without a call id, a turn id and a time looks the same as a later equal
// payload. Its events therefore get new ids each time, and the package runtree merges
// them.
package agents
