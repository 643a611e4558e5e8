// Package writer creates ledgers, appends to them, and manages the signing key. No other
// package changes a ledger's file. Package ledger describes the format.
//
// Each [Ledger.Append] is one transaction. It stores leaves, tree hashes, payloads and a signed
// checkpoint with the position in the stream. All of it is on disk when Append returns nil, and
// none of it after an error. [Open] compares the file with the newest checkpoint, and the
// writer signs only trees that continue the tree of that checkpoint.
//
// An order takes effect at the place of its event in the stream. The transaction of that batch
// deletes the payloads that the order destroys. [Ledger.Scrub] later removes their remains from
// the file and its log.
//
// Only one goroutine at a time may use a [Ledger]. The same is true of a [Set], which itself
// writes the ledgers of several tenants in parallel.
package writer
