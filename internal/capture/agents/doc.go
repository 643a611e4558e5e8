// Package agents reads the hook payloads of coding agents and encodes the answers. It
// supports Claude Code, Codex, Gemini CLI, Copilot CLI and OpenCode.
//
// A payload becomes events that do not depend on the tool. A session is a run, and so
// is a sub-agent. The status of a call is derived from the output if the tool does not
// send it. Calls and results without an id are paired by their order. The whole payload
// stays in data.raw. An unknown payload becomes a custom event.
//
// Handling a payload takes four steps. Parse it with [Tool.Parse]. If the tool waits
// for a decision, ask hooks with the Document. Record the events of [Payload.Decided],
// or Events if no hook was asked. Print the answer of [Tool.Reply].
//
// A repeated payload gives the same event ids, so it is recorded once. A payload without
// a call id, a turn id and a time looks like a new call. Its events get new ids each
// time, and the package runtree merges them.
package agents
