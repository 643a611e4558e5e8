// Package siem sends the records of a ledger to a SIEM, as they arrive and in their order.
//
// [Follow] reads the ledger, and not the stream, so that only evidence goes out. It shares
// nothing with the auditor that writes the ledger. A receiver that is slow or away delays
// Follow alone, which keeps one batch in memory.
//
// The position is stored after the receiver has a batch, so each record is delivered at
// least once. For syslog over TCP and TLS this means that the receiving machine has
// acknowledged the bytes. UDP has no acknowledgment.
package siem
