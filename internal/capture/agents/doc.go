// Package agents reads what coding agents send to their hooks, and answers in
// the dialect of each: Claude Code, Codex, Gemini CLI, Copilot CLI, OpenCode.
//
// A hook payload becomes events of one neutral view: a run per session, the run
// of a sub-agent below it, steps, tool calls with their results. What a tool
// does not tell is derived: the status of a call from its output, the pair of a
// call and its result from order, the time from the clock of who received it.
// The payload itself stays in data.raw of its first event, and what this
// package does not know becomes a custom event, so that nothing is lost.
//
// One payload is handled in four steps: [Tool.Parse] it; if it decides, ask
// hooks with its Document; record what [Payload.Decided] returns, or its Events
// where nobody was asked; print [Tool.Reply]. None of them fails for a payload
// that is a JSON object, whatever is in it.
//
// Events of the same payload have the same ids, so that a payload that comes
// twice is recorded once; hooks that judge it differently are recorded each, as
// events of the same call. Where a payload has nothing that tells it from a
// later, equal one (neither a call nor a turn nor a time), its events have fresh
// ids: two equal payloads are then two events, and the run tree that
// internal/evidence/runtree makes of them is that of one.
package agents
