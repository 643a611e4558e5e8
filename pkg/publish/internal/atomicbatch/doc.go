// Package atomicbatch sends atomic batches of messages to a JetStream stream.
//
// A [Sender] stores all messages of a batch or none. [OutcomeOf] classifies the
// errors of a batch. The server reports missing permissions separately from
// answers. The package joins the two, so that a missing permission is known within
// a second and does not look like a timeout.
package atomicbatch
