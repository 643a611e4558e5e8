// Package ingest is what the adapters have in common that turn what other tools
// wrote or send into events, and holds those of CloudEvents: as JSON lines
// ([CloudEvents]) and, in package cehttp, over HTTP. Each transcript format has a
// package of its own below this one, with two functions:
//
//	Events(ctx, r, opts) iter.Seq2[events.Event, error]
//	Detect(head []byte, path string) bool
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
// An adapter is written with an [Emitter], which reads the lines, hands events
// on and reports what it cannot, and with a [Run] for each run of the input,
// which derives the ids, pairs calls with results and keeps the counters:
//
//	m := ingest.NewEmitter("tool", opts, yield)
//	if m.Lines(ctx, r, read) { // read calls m.Run, and on it Prompt, Call, Result, Emit, Spend
//		run.Finish(nil)
//	}
//
// Nothing here is safe for concurrent use; separate calls are independent.
package ingest
