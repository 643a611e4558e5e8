// Package siem sends the records of a ledger to a SIEM, in ledger order and soon after they arrive.
//
// [Follow] reads the ledger instead of the stream, so that it sends only recorded evidence. A slow
// receiver never delays the auditor.
//
// Follow stores its position after the receiver has acknowledged a batch, so each record is
// delivered at least once. With syslog, only the receiver's machine acknowledges over TCP and TLS,
// and nobody over UDP, so records can be lost.
package siem
