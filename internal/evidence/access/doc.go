// Package access records each use of evidence and lists the recorded uses.
//
// Before evidence is read, [Record] appends the use to an outbox in the data directory. This needs
// neither a broker nor a running auditor. The auditor sends the outbox to the stream. In this way
// the use becomes a leaf of the tenant's ledger, where [List] reads it.
package access
