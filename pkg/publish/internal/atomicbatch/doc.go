// Package atomicbatch sends atomic batches of messages to a JetStream stream.
//
// A [Sender] stores all messages of a batch or none. [OutcomeOf] classifies the
// errors of a batch by the action that they require. The server reports missing
// permissions separately from answers; the package joins the two, so that a
// missing permission is known within a second and does not look like a timeout.
// [LastMessage] reads the last message on a subject, and a [Link] follows the
// state of the connection.
package atomicbatch
