// Package access records each use of evidence, and lists the recorded uses.
//
// [Record] appends a use to an outbox below the data directory before the evidence is read.
// It needs neither a broker nor a running auditor. The auditor sends the outbox to the
// stream, and the use becomes a leaf of the tenant's ledger, from which [List] reads it.
package access
