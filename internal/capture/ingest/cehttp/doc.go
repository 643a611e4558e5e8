// Package cehttp reads CloudEvents from HTTP requests, one after the other while
// the body comes in: the structured, binary and batch mode of the CloudEvents
// HTTP binding, and JSON lines.
//
// No more than one event is held in memory, whatever the length of a batch. What
// is wrong with a request is said with its place: which event, which line, which
// byte; never with its text.
package cehttp
