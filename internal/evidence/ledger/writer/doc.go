// Package writer creates ledgers and appends to them. It holds the signing key, and no other
// package changes a ledger's file. Package ledger describes the format.
//
// Each [Ledger.Append] is one transaction. It stores leaves, tree hashes, payloads and a
// signed checkpoint that names the position in the stream. All of it is on disk when Append
// returns nil, and none of it after an error. A writer that opens a ledger compares it with
// the newest checkpoint, and never signs a tree that does not continue it.
//
// An order takes effect at its place in the stream. The transaction of its batch deletes the
// payloads that the order destroys. [Ledger.Scrub] removes their remains from the file and
// its log.
//
// One goroutine at a time may use a [Ledger]. The same holds for a [Set], which writes the
// ledgers of several tenants in parallel.
package writer
