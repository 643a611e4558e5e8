// Package publisher implements the publisher command.
//
//	import   reads transcripts, once or as they grow
//	pipe     reads CloudEvents as JSON lines
//	serve    accepts events, telemetry and hook payloads over HTTP, and makes decisions
//	hook     answers one hook payload
//	install  adds the hook command to an agent's configuration
//	outbox   shows and flushes outboxes
//	token    manages the tokens of senders
//
// The service is in internal/capture/publisher, and the hook command's work is in
// internal/capture/hookclient. The command hooktrail up also uses the flags in [RegisterAccess],
// [Redaction] and [HookFile].
package publisher
