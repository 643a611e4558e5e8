// Package daily makes and checks signed reports about the records that a ledger received in a range
// of time, such as a day.
//
// A [Report] has the verdicts of the verifier about that time, the coverage by hour, and counts of
// the records. It contains nothing that depends on the reader, so the same state of the ledger
// gives the same bytes.
//
// A [Statement] about the report is signed with the ledger's key. It contains the size and root of
// the ledger's tree, the digest of the report as JSON, and the report as text. [Parse] reads a
// report file, which is the signed text or JSON. [File.Check] checks it offline.
// [Statement.Compare] compares the report with a ledger.
package daily
