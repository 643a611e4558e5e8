// Package access records each use of evidence and lists the recorded uses.
//
// [Record] appends the use to an outbox in the data directory before the evidence is read. It needs
// no broker and no auditor. The auditor later sends the use to the stream. The use becomes a leaf
// of the tenant's ledger, where [List] reads it.
package access
