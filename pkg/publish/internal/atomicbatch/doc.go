// Package atomicbatch sends atomic batches of messages to a JetStream stream.
//
// The server reports missing permissions separately from answers. The package
// joins the two, so that a missing permission is known within a second and does
// not look like a timeout.
package atomicbatch
