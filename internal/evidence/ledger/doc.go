// Package ledger defines the format of ledgers and reads them.
//
// A ledger is one SQLite file per tenant. Each record from the stream is a leaf of a Merkle
// tree (RFC 6962), and the root of the tree is signed. A [Leaf] commits to one record. The
// bytes of the record are in a separate table. The tree depends only on the tenant's
// messages in stream order. Batches, repetitions and crashes of the writer do not change
// the root.
//
//   - An event is a leaf of class event. A copy of it, with the same bytes, producer and
//     sequence, is dropped.
//   - An event with the id of an earlier one, and the same type, run and data, is a
//     repetition if its number is new. It has no leaf. It is recorded separately and
//     counts for completeness.
//   - An event whose id or number belongs to other content is a leaf of class conflict.
//   - A message that is unreadable or differs from its subject is a leaf of class
//     quarantine.
//   - A manifest is a leaf of class manifest.
//   - A signed [Order] in an event destroys payloads, sets or lifts a hold, or changes the
//     key. The leaves and the root remain.
//
// # Packages
//
//	ledger            the format, and Reader
//	ledger/writer     keys, appending, executing orders, scrubbing
//	ledger/verifier   integrity, completeness, the report
//
// Writer and verifier import this package and never each other, which a test in
// internal/testkit/architecture checks. The verifier is therefore independent of the code
// that wrote the ledger. This package contains the code that both need:
//
//   - the signed encodings and their rules, such as [AppendLeaf], [Arrivals],
//     [OpenKeyChange], [Keys] and [Target]
//   - the layout of the file, such as [CheckSchema], [HashesPerRow], [ReadPayload],
//     [CutChunk], [ScanRemoval] and [EachTarget]
//   - [OpenFile], which opens the file for reading
//
// The verifier rebuilds the tree, the digest of arrivals, and the state of orders and keys.
// It trusts no value that the writer stored.
//
// The package has more files than most, because leaves, orders and keys share one text
// encoding and one schema. Packages of their own would have to export both.
//
// # Reading
//
// A [Reader] opens the file read-only, in parallel with a running writer or on a copy.
// Several goroutines may use it. It does not check the file. Its results are evidence only
// as far as the verifier or a [Proof] confirms them.
package ledger
