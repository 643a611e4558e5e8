// Package publisher is the command that takes events in:
//
//	import             transcripts that exist already, and those that grow
//	pipe               CloudEvents as JSON lines
//	serve              CloudEvents, OpenTelemetry and hook payloads over HTTP; decisions
//	hook, install      one hook payload of an agent, answered in its dialect; the
//	                   agent's configuration that brings it here
//	outbox, token      what waits, and who may send
//
// import, pipe and serve have an outbox each below the data directory; all hook
// commands share one, which serve forwards. The command hook is internal/capture/hookclient;
// here is what answers it. What was taken is in the outbox before it is acknowledged
// to the sender, reaches the stream once, in order, and survives the end of this
// process, a stopped broker and a full disk; what could not be sent when a command
// ends is sent when it runs again. import, pipe and serve know the events that they
// have taken, by source and id: taking something in again adds nothing.
//
// [Import] and [Handler] are what hooktrail demo and hooktrail up use.
package publisher
