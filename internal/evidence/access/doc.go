// Package access records each use of evidence and lists the recorded uses.
//
// [Record] appends the use to an outbox in the data directory before the evidence is read. The
// auditor later sends it to the stream, through which it becomes a leaf of the tenant's ledger.
// [List] reads it there.
package access
