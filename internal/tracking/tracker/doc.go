// Package tracker turns the event stream into issues and explains its decisions.
//
// The service has three stages. Each of them resumes after a crash at any point:
//
//  1. Fold. Package rules decides on a batch of events. One transaction on
//     tracker/tracker.db commits the new state, the decisions, their effects and the
//     position in the stream.
//  2. Settle. The tracker applies pending effects to the backend in order. An effect is
//     settled once the backend has stored it. After a crash, an effect can be repeated and
//     then changes nothing.
//  3. Publish. The tracker appends unpublished decisions to its outbox, which rejects
//     duplicate ids. When it reads the decision in the stream, it marks the decision as
//     published. A tracker without tracker.db reads the whole stream before it publishes, so
//     that it does not publish a decision twice.
//
// While the backend is unavailable, the tracker stops reading the stream. [Options.Progress]
// reports the reason.
//
// [List], [Show], [Why] and [Close] need only the files. [Rebuild] needs the stream, and fails
// while a tracker is running.
package tracker
