// Package transport describes how the forwarder sends atomic batches of messages to a stream. Package
// atomicbatch implements it for JetStream. This package does not import nats.go, so that programs
// which only append to an outbox start quickly.
package transport
