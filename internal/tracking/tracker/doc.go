// Package tracker turns the stream of events into issues, and says why.
//
// It has three stages, each of which can be interrupted at any point and goes
// on where it was:
//
//  1. Fold. A batch of events is folded by package issues; the new state, the
//     decisions, their effects and the position in the stream are committed in
//     one transaction of tracker/tracker.db, whose tables are those of package
//     issuedb.
//  2. Settle. Effects that are not settled yet are applied to the backend, in
//     order, and then marked. What a crash makes happen twice changes nothing
//     the second time.
//  3. Publish. Decisions that are not published yet go into the tracker's own
//     outbox, under an id that follows from the event and the configuration, and
//     are then marked. The outbox refuses ids that it has taken, and a decision
//     that comes by in the stream is marked too: a tracker that starts anew reads
//     the stream as it is before it publishes anything, and repeats nothing.
//
// A backend that is unavailable stops the reading of the stream: nothing is
// lost, and [Options.Progress] says why it waits.
//
// [Command] has serve, and commands that only read the files: they work while
// serve runs, and while it does not. What another configuration would make of a
// history is asked of package whatif, which knows the tracker's file and nothing of
// its stages.
package tracker
