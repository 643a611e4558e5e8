// Package atomicbatch sends atomic batches of messages to a JetStream stream. It combines answers
// and permission errors, which the server reports separately, so that a missing permission does not
// look like a timeout.
package atomicbatch
