// Package writer creates ledgers, appends to them, and manages the signing key. No other package
// changes a ledger's file, whose format package ledger describes.
//
// Each [Ledger.Append] is one transaction, which stores leaves, tree hashes, payloads and a
// signed checkpoint with the position in the stream. All of it is on disk when Append returns
// nil, and none of it after an error. [Open] compares the file with the newest checkpoint, so
// that the writer signs only trees that continue the tree of that checkpoint.
//
// An order takes effect at the place of its event in the stream, so the transaction of that batch
// deletes the payloads that the order destroys. Remains of them can stay in the file and its log
// until [Ledger.Scrub] removes them.
//
// Only one goroutine at a time may use a [Ledger]. The same is true of a [Set], which itself
// writes the ledgers of several tenants in parallel.
package writer
