// Package publish writes events to the stream: never stalling the caller, never
// losing an event.
package publish
