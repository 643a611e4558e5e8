// Package consume reads the event stream for every service.
//
// [Run] passes batches in stream order to a [Projection], which commits its state
// together with the position of the last message. Afterwards Run acknowledges the
// messages. The position is the only record of progress. At each start, and after each
// error, Run resets the durable to the message after the position. Without the reset
// the server would deliver new messages before the unacknowledged messages of a killed
// process.
//
// Run drops messages that the server delivers again. The projection drops repeated events with
// its [Marks]. Repeats occur when a publisher sends a partly stored batch again.
//
// Run skips no message silently. Without a tenant the sequences must be consecutive. With a
// tenant the delivery numbers of the consumer must be consecutive. If a message is missing, Run
// resets the durable. If messages no longer exist, Run confirms that with the leader of the
// stream, reports a [Gap] and continues after it.
//
// After any error of the projection Run retries with growing pauses, without a limit.
// The exception is a [*Poison]. Run dead-letters its message and terminates it.
//
// Only one process may read a durable at a time, which the lock of the projection
// ensures. Two readers would miss messages.
package consume
