// Package publisher is the command publisher: its subcommands, flags, help, output
// and progress bars.
//
//	import         reads transcripts, once or as they grow
//	pipe           reads CloudEvents as JSON lines
//	serve          takes events, telemetry and hook payloads over HTTP, and decides
//	hook, install  answer one hook payload, and add that command to an agent's configuration
//	outbox, token  show and flush outboxes, and manage the tokens of senders
//
// The service itself is internal/capture/publisher. The engine of hook is
// internal/capture/hookclient. [RegisterAccess], [Redaction] and [HookFile] are
// flags that hooktrail up has too.
package publisher
