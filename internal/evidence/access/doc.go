// Package access records each use of evidence, and lists the recorded uses.
//
// [Record] appends a use to an outbox below the data directory before the evidence
// is read. It needs neither a broker nor a running auditor. The auditor sends the
// outbox to the stream, and the use becomes a leaf of the tenant's ledger. [List]
// reads the uses from there.
//
// Any number of processes may record at the same time.
package access
