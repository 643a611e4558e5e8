// Package ledger keeps the evidence: one SQLite file per tenant, in which every
// record that came out of the stream is a leaf of a Merkle tree (RFC 6962) whose
// root is signed.
//
// A [Leaf] commits to one record; the record's bytes lie beside it in a table of
// their own. The tree is a pure function of the tenant's messages in stream
// order: however they are cut into batches, whatever comes again, whenever the
// writer is killed, the same messages give the same root.
//
//   - An event is a leaf of class event. A copy of it, the same bytes under the
//     same producer and sequence, is dropped.
//   - The same content under another number (type, run and data of an event id
//     that is there already) was seen again: it is noted beside the tree, where
//     it counts for completeness, and adds no leaf.
//   - Another content under an id or a number that is taken is a leaf of class
//     conflict. What cannot be read, or is not what its subject says, is a leaf of
//     class quarantine. Nothing is ever dropped.
//   - A manifest is a leaf of class manifest.
//
// Each [Ledger.Append] is one transaction that holds everything: leaves, tree
// hashes, payloads, and a [Checkpoint], signed, which names the position in the
// stream. When Append returns, all of that is on disk; when it fails, nothing
// of it is. A writer that opens a ledger first compares it with its newest
// checkpoint, and refuses to sign anything that does not continue it.
//
// A [Ledger] belongs to one goroutine at a time. A [Reader] opens the file read
// only, beside a running writer or on a copy of it, and may be used concurrently.
// [Verify] reads everything, trusts nothing but the key, and is written apart
// from the writer: the two share the formats and nothing else.
package ledger
