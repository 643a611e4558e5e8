// Package publish writes events to the stream. The caller does not wait for the server, and no
// event is lost.
//
// [Open] opens an outbox on disk. Append redacts and numbers an event, writes it to the outbox, and
// returns. A forwarder sends the events to JetStream in atomic batches. Package [outbox] implements
// this, and its documentation describes order, durability, sharing and limits. This package connects
// it with NATS.
package publish
