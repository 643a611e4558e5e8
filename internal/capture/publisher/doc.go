// Package publisher is the service that receives events and sends them to the stream.
//
//	Run, Handler   CloudEvents, OpenTelemetry and hook payloads over HTTP, and decisions
//	HookService    hook payloads over HTTP, and the socket that publisher hook uses
//	Import, Pipe   transcripts, and CloudEvents as JSON lines
//	Outboxes       state of the outboxes, and FlushOutboxes to send their events
//
// Import, Pipe and Run each have an outbox in the data directory. All hook commands share a fourth
// one, which Run forwards. A sender gets an acknowledgement only after the event is in the outbox.
// The event reaches the stream once and in order, even after a crash, a stopped broker or a full
// disk.
//
// The outboxes of Import, Pipe and Run drop duplicates by tenant, source and id, so a sender can
// safely repeat its input. Run remembers only the latest 500,000 events.
//
// # Files
//
// The entries share outboxes, limits and the reply to a sender:
//
//	serve, server, socket, tls, peer, caller, access  the service and who calls it
//	http*, limited, hook*, decisions, problem         the routes
//	import*, input, formats, refusal, files, feed, follow, contents  import
//	pipe, await, outbox*, shared                      pipe and outboxes
package publisher
