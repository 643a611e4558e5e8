// Package ingest is the toolkit of adapters, which turn the files of other tools into
// events. It also reads CloudEvents ([CloudEvents]). Each transcript format is a
// package below this one with two functions:
//
//	Events(ctx, r, opts) iter.Seq2[events.Event, error]
//	Detect(head []byte, path string) bool
//
// An adapter reads its input once and yields events in the order of the input. In
// memory it has counters, ids and a bounded amount of content. It yields a
// [*LineError] for unreadable input and continues where it can. Any other error ends
// the input.
//
// The ids of events are derived from their position in the transcript, so importing a
// longer version of it gives the same events. Ids and contents do not depend on later
// input. Exceptions are the aggregates response.completed, step.finished and
// run.finished, which change as the input grows. Their ids cover their content, and
// the latest one counts.
//
// An adapter uses an [Emitter] to read lines, yield events and report faults, and a
// [Run] for each run of the input:
//
//	m := ingest.NewEmitter("tool", opts, yield)
//	if m.Lines(ctx, r, read) { // read calls m.Run, and on it Prompt, Call, Result, Emit, Spend
//		run.Finish(nil)
//	}
//
// Values of this package are not safe for concurrent use.
package ingest
