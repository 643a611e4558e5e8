// Package writer creates ledgers and appends to them. It manages the signing key. No other
// package changes a ledger's file. Package ledger describes the format.
//
// Each [Ledger.Append] is one transaction. It stores leaves, tree hashes, payloads and a
// signed checkpoint that names the position in the stream. All of it is on disk when Append
// returns nil, and none of it after an error. When a writer opens a ledger, it compares the
// file with the newest checkpoint. It signs only trees that continue the tree of that
// checkpoint.
//
// An order takes effect at the place of its event in the stream. The payloads that it
// destroys are deleted in the transaction of the batch that contains the event. [Ledger.Scrub]
// later removes their remains from the file and its log.
//
// Only one goroutine at a time may use a [Ledger]. The same is true of a [Set], although it
// writes the ledgers of several tenants in parallel itself.
package writer
