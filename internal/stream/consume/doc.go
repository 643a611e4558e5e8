// Package consume reads the event stream for every service.
//
// [Run] passes batches in stream order to a [Projection]. The projection commits its
// state together with the position of the last message. Run acknowledges the
// messages after the commit. The position is the only record of progress. At each
// start, and after each error, Run resets the durable to the message after the
// position. Without the reset the server would deliver new messages first, and the
// unacknowledged messages of a killed process only after the ack wait.
//
// Run drops messages that the server delivers again. The projection drops repeated
// events by (tenant, producer, sequence) with its [Marks]. Such repeats occur when a
// publisher sends a batch again that was stored in part.
//
// The position never skips messages silently. Without a tenant the sequences must be
// consecutive. With a tenant the delivery count of the consumer must be. If a
// message is missing, Run resets the durable. If messages have expired or were
// deleted, Run confirms that with the leader of the stream, reports a [Hole] and
// continues after it.
//
// Each message has one of three outcomes. It is applied and acknowledged. Or Run
// retries it with growing pauses, without a limit, because the projection returned
// an error. Or it is dead-lettered and terminated, because the projection returned a
// [*Poison].
//
// Only one process may read a durable at a time. The lock of the projection ensures
// that. Two readers would miss messages, and the log would contain warnings.
package consume
