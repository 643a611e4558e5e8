// Package siem sends the records of a ledger to a SIEM, in ledger order and soon after they arrive.
//
// [Follow] reads the ledger instead of the stream, so that it sends only recorded evidence. A slow
// receiver delays Follow but never the auditor. Follow keeps one batch in memory.
//
// Follow stores its position after the receiver has acknowledged a batch. Each record is
// therefore delivered at least once. With syslog, only the receiver's machine acknowledges the
// bytes over TCP and TLS, and UDP acknowledges nothing, so records can then be lost.
package siem
