// Package consume is the one loop by which every service reads the stream.
//
// [Run] hands a [Projection] batches in stream order. The projection commits
// its state together with the position of the last message, and only then are
// the messages acknowledged. The projection's position is the only truth about
// what was done: at each start, and after anything went wrong, the durable
// consumer on the server is reset to the position behind it. A durable that
// goes on by itself delivers new messages first and those that a killed process
// had in hand only after its ack wait.
//
// A message is applied exactly once per position: repeats by stream sequence
// are dropped here, repeats by (tenant, producer, sequence), which a half-stored
// batch leaves behind, by the projection with its [Marks]. The position never
// moves over a hole by accident: without a tenant the next message must have
// the next sequence, with one the consumer's own count must have no gap.
// Otherwise the consumer is reset. A hole that the stream really has, because
// messages expired or were deleted, is confirmed with the stream's leader,
// reported, and passed.
//
// Messages have three fates: applied and acknowledged; tried again, for ever and
// with growing pauses, when the projection returns an error; or dead-lettered
// and terminated, when it returns a [*Poison].
//
// A durable must be read by one process at a time; the lock on the projection
// sees to it. Two of them make holes for each other, and the warnings say so.
package consume
