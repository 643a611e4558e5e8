// Package ingest turns what other tools wrote or send into events: transcripts
// of Claude Code ([ClaudeCode]), CloudEvents as JSON lines ([CloudEvents]) and
// CloudEvents over HTTP ([FromRequest]).
//
// An adapter reads its input once and from front to back, and yields the events
// in the order of the input. What it keeps in memory are counters and ids, never
// content, one line aside. What it cannot read is yielded as a [*LineError] and
// left out; the rest goes on. Any other error ends the input.
//
// The events of a transcript carry ids derived from their place in it, so that
// importing a transcript again, or a longer version of it, gives the same events
// again. No id and no content depends on what comes later in the input. Only
// aggregates (response.completed, step.finished, run.finished) grow with it:
// their ids cover their content, and of several the latest one counts.
//
// Nothing here is safe for concurrent use; separate calls are independent.
package ingest
