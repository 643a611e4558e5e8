// Package agents reads the hook payloads of coding agents and encodes the answers. It
// supports Claude Code, Codex, Gemini CLI, Copilot CLI and OpenCode.
//
// A payload becomes events that do not depend on the tool. A session is a run, and so is a
// sub-agent. The whole payload stays in data.raw. If the tool does not send the status of a call,
// it is derived from the output. Calls and results without an id are paired by their order. An
// unknown payload becomes a custom event.
//
// Parse a payload with [Tool.Parse]. If the tool waits for a decision, ask hooks with the Document.
// Record the events of [Payload.Decided], or Events if no hook was asked. Print the answer of
// [Tool.Reply].
//
// A repeated payload gives the same event ids, so it is recorded once. Without a call id, a turn id
// and a time, it looks like a new call, and package runtree merges the events.
package agents
