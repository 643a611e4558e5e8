// Package access records each use of evidence and lists the recorded uses.
//
// Before evidence is read, [Record] appends the use to an outbox in the data directory, even
// without a broker or auditor. The auditor later sends it to the stream, so that it becomes a leaf
// of the tenant's ledger, where [List] reads it.
package access
