// Package publish writes events to the stream. The caller does not wait for the server, and no
// event is lost.
//
// [Open] opens an outbox on disk. Append redacts and numbers an event, writes it to the outbox,
// and returns. A forwarder sends the events to JetStream in atomic batches.
//
// Package [outbox] implements the outbox and the forwarder, and describes their order, durability,
// sharing and limits. Package publish connects the outbox with NATS.
package publish
