// Package ledger is the evidence: what a ledger is made of, and how it is read.
//
// A ledger is one SQLite file per tenant, in which every record that came out of
// the stream is a leaf of a Merkle tree (RFC 6962) whose root is signed. A [Leaf]
// commits to one record; the record's bytes lie beside it in a table of their own.
// The tree is a pure function of the tenant's messages in stream order: however
// they are cut into batches, whatever comes again, whenever the writer is killed,
// the same messages give the same root.
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
//   - A signed [Order] that an event brings destroys payloads, holds them, or
//     changes the key. The leaves stay, and so does the root.
//
// # Who needs what
//
//	ledger            the format: leaves, checkpoints, orders, keys, tables; and Reader
//	ledger/writer     makes ledgers: keys, appending, obeying orders, scrubbing
//	ledger/verifier   judges them: integrity, completeness, the report
//
// Writer and verifier import this package and never each other, which
// internal/testkit/architecture holds: a verdict is worth more when it comes from code that had
// no part in what it judges. What they share is here, and is of three sorts:
//
//   - what is signed, and the rules that its words stand for: [AppendLeaf],
//     [Arrivals], [OpenKeyChange], [Keys], [Target], which says what an order
//     covers;
//   - where things lie in the file: [CheckSchema], [HashesPerRow], [ReadPayload]
//     and [CutChunk], [ScanRemoval], [EachTarget];
//   - [OpenFile], which opens it for reading.
//
// The verifier builds the tree, the digest of arrivals and the state of orders and
// keys again, by itself, and takes nothing that the writer stored for true.
//
// A [Reader] opens the file read only, beside a running writer or on a copy of it,
// and may be used concurrently. It trusts the file: what it returns is evidence
// as far as the verifier, or a [Proof], says so.
package ledger
