// Package atomicbatch sends atomic batches of messages to a JetStream stream. If a permission is
// missing, the server sends no answer and reports the violation separately. The package returns
// this report as the error, instead of a timeout.
package atomicbatch
