// Package writer makes ledgers: it has the signing key, and is the only one that
// changes a ledger's file. What it writes the package ledger tells.
//
// Each [Ledger.Append] is one transaction that holds everything: leaves, tree
// hashes, payloads, and a checkpoint, signed, which names the position in the
// stream. When Append returns, all of that is on disk; when it fails, nothing
// of it is. A writer that opens a ledger first compares it with its newest
// checkpoint, and refuses to sign anything that does not continue it.
//
// Orders take effect where they come in the stream: payloads that one destroys go
// in the transaction of their batch, and [Ledger.Scrub] takes their remains out of
// the file and its log.
//
// A [Ledger] belongs to one goroutine at a time, and so does a [Set], which has
// those of all tenants and writes several beside each other.
package writer
