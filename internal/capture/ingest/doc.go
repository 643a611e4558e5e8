// Package ingest contains the code that all adapters share, and the adapter [CloudEvents]. An
// adapter turns the files of another tool into events. Each transcript format is a package below
// this one with two functions:
//
//	Events(ctx, r, opts) iter.Seq2[events.Event, error]
//	Detect(head []byte, path string) bool
//
// An adapter reads its input once, in bounded memory, and yields events in the order of the input.
// Unreadable input is a [*LineError]. Any other error ends the input.
//
// Event ids are derived from positions in the transcript, so a longer version of the transcript
// gives the same events. The sums response.completed, step.finished and run.finished change as the
// input grows. Their ids are derived from their content, and the latest version is valid.
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
