// Package cehttp reads CloudEvents from HTTP requests while the body arrives. It
// supports the structured, binary and batch modes of the CloudEvents HTTP binding, and
// JSON lines. It holds one event in memory. Errors name the event, the line and the
// byte, and quote no text of the request.
package cehttp
