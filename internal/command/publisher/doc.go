// Package publisher implements the publisher command.
//
//	import         reads transcripts, once or as they grow
//	pipe           reads CloudEvents as JSON lines
//	serve          takes events, telemetry and hook payloads over HTTP, and decides
//	hook, install  answer one hook payload, and add that command to an agent's configuration
//	outbox, token  show and flush outboxes, and manage the tokens of senders
//
// The service is in internal/capture/publisher, and the engine of the hook command is in
// internal/capture/hookclient. The command hooktrail up also uses the flags in [RegisterAccess],
// [Redaction] and [HookFile].
package publisher
