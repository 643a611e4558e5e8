// Package tracker turns the event stream into issues and explains its decisions.
//
// The service has three stages. Each resumes after a crash at any point:
//
//  1. Fold. Package rules decides on a batch of events. One transaction of
//     tracker/tracker.db commits the new state, the decisions, their effects and the
//     position in the stream. Package store owns the tables.
//  2. Settle. The tracker applies pending effects to the backend in order. An effect is
//     settled once the backend has stored it. A crash can repeat an effect, and a
//     repeated effect changes nothing.
//  3. Publish. The tracker appends unpublished decisions to its outbox, which rejects
//     duplicate ids. It marks decisions that it reads in the stream as published. A tracker
//     without a file reads the whole stream before it publishes, and publishes nothing
//     twice.
//
// While the backend is unavailable, the tracker stops reading the stream, and
// [Options.Progress] reports the reason.
//
// [List], [Show], [Why] and [Close] need only the files, whether or not a tracker is running.
// [Rebuild] needs the stream, and no running tracker.
package tracker
