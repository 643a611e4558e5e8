// Package publisher is the service that takes events in and sends them to the stream.
//
//	Run, Handler   CloudEvents, OpenTelemetry and hook payloads over HTTP, and decisions
//	HookService    hook payloads over HTTP, and the socket that publisher hook uses
//	Import, Pipe   transcripts, and CloudEvents as JSON lines
//	Outboxes       state of the outboxes, and FlushOutboxes to send their events
//
// Import, Pipe and Run each have an outbox in the data directory. All hook commands
// share another one, which Run forwards. An event is in the outbox before its sender
// gets an acknowledgement. It reaches the stream once and in order. It survives a
// crash, a stopped broker and a full disk. Events that are unsent when a process ends
// are sent when it runs again.
//
// The three outboxes drop duplicates, by tenant, source and id, so input can be sent
// again safely. The outbox of Run remembers the latest 500,000 events for this.
//
// The package has 26 files, because each path into the outbox is one file.
package publisher
