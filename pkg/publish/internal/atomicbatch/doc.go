// Package atomicbatch implements package transport for JetStream. If a permission is
// missing, the server sends no answer and reports the violation separately. The package then
// returns the violation instead of a timeout.
package atomicbatch
