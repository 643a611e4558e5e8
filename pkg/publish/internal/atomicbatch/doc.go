// Package atomicbatch sends atomic batches of messages to a JetStream stream. The server reports
// missing permissions separately from answers. The package combines the two, so that a missing
// permission does not look like a timeout.
package atomicbatch
