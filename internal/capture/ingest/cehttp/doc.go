// Package cehttp reads CloudEvents from HTTP requests while the body arrives, one event at a time.
// It supports JSON lines and the structured, binary and batch modes of the CloudEvents HTTP
// binding. Errors give the position and quote no text of the request.
package cehttp
