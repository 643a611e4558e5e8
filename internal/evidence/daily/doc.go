// Package daily makes signed reports about what a ledger received in a range of time,
// such as a day, and checks them.
//
// A [Report] has the verdicts of the verifier about that time, the coverage by hour, and
// counts of the records. It depends on the ledger only, so the same state of the ledger
// gives the same bytes. What depends on the reader, such as the anchor of the key, is not
// in it.
//
// A [Statement] about the report is signed with the ledger's key. It has the tree of the
// ledger, the digest of the report as JSON, and the text for people. [Parse] reads a file
// with either form, [File.Check] checks it offline, and [File.Compare] compares it with a
// ledger.
package daily
