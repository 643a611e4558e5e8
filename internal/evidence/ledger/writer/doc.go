// Package writer creates ledgers, appends to them, and manages the signing key. No other package
// changes a ledger's file, whose format package ledger describes.
//
// Each [Ledger.Append] is one transaction, which stores leaves, tree hashes, payloads and a signed
// checkpoint. All of it is on disk when Append returns nil, and none of it after an error. [Open]
// compares the file with the newest checkpoint, so that the writer only continues a signed tree.
//
// An order takes effect at the place of its event in the stream. The payloads that it destroys
// leave remains in the file and its log until [Ledger.Scrub] removes them.
//
// Only one goroutine at a time may use a [Ledger] or a [Set]. A Set itself writes several ledgers
// in parallel.
package writer
