// Package consume reads the event stream for every service.
//
// [Run] passes batches in stream order to a [Projection], which commits its state together with
// the position of the last message. Then Run acknowledges the messages. At each start and after
// each error, Run resets its consumer on the server to that position. Otherwise the messages that
// a killed process had not acknowledged would arrive after new ones.
//
// Run drops messages that the server delivers again, while the projection drops repeated events
// with its [Marks].
//
// Run never skips a message silently. It requires consecutive stream sequences or, when it reads
// one tenant, consecutive delivery numbers. If a delivery is missing, Run resets the consumer. If
// messages no longer exist, Run confirms that with the leader of the stream, reports a [Gap] and
// continues after it.
//
// After an error of the projection, Run retries without a limit. The exception is a [*Poison], for
// which Run stores a dead letter and terminates the message.
//
// Only one process may use a consumer at a time, because two readers would each miss messages. The
// lock of the projection ensures that.
package consume
