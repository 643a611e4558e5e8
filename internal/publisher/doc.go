// Package publisher is the command that takes events in: transcripts that exist
// already (import), CloudEvents as JSON lines (pipe) and over HTTP (serve).
//
// Each of the three has an outbox of its own below the data directory. What was
// taken is in the outbox before it is acknowledged to the sender, reaches the
// stream once, in order, and survives the end of this process, a stopped broker
// and a full disk; what could not be sent when a command ends is sent when it
// runs again. import and pipe know the events that they have taken, by
// source and id: taking something in again adds nothing.
//
// [Import] and [Handler] are what hooktrail demo and hooktrail up use.
package publisher
