// Package siem sends the records of a ledger to a SIEM, in ledger order and soon after they arrive.
//
// [Follow] reads the ledger instead of the stream, so that it sends only records that are in the
// evidence. It shares nothing with the auditor that writes the ledger. A receiver that is slow or
// unreachable therefore delays only Follow, which keeps one batch in memory.
//
// The position is stored after the receiver has acknowledged a batch, so each record is delivered
// at least once. With syslog over TCP and TLS, this means that the machine of the receiver has
// acknowledged the bytes. UDP has no acknowledgment.
package siem
