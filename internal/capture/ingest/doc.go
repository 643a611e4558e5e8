// Package ingest is the toolkit of adapters, which turn the files and requests of
// other tools into events. It also reads CloudEvents as JSON lines
// ([CloudEvents]), and the package cehttp receives them over HTTP. Each transcript
// format has a package below this one with two functions:
//
//	Events(ctx, r, opts) iter.Seq2[events.Event, error]
//	Detect(head []byte, path string) bool
//
// An adapter reads its input once, from front to back, and yields events in the
// order of the input. It holds counters and ids in memory, and the content of one
// line. It yields a [*LineError] for unreadable input and continues. Any other
// error ends the input.
//
// The ids of events are derived from their position in the transcript. Importing
// the transcript again, or a longer version of it, gives the same events. Neither
// ids nor contents depend on later input. The exceptions are the aggregates
// response.completed, step.finished and run.finished, which change as the input
// grows. Their ids cover their content, and the latest one counts.
//
// An adapter uses an [Emitter] to read lines, to yield events and to report faults.
// It uses a [Run] for each run of the input. The Run derives ids, pairs calls with
// results and counts:
//
//	m := ingest.NewEmitter("tool", opts, yield)
//	if m.Lines(ctx, r, read) { // read calls m.Run, and on it Prompt, Call, Result, Emit, Spend
//		run.Finish(nil)
//	}
//
// Values of this package are not safe for concurrent use. Separate calls are
// independent.
package ingest
