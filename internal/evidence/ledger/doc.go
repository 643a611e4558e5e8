// Package ledger defines the format of ledgers and reads them.
//
// A ledger is one SQLite file per tenant. Each record from the stream is a [Leaf] of a Merkle tree
// (RFC 6962), and the root of the tree is signed. The bytes of the record are in a separate table.
// The tree depends only on the tenant's messages in stream order, and not on batches or crashes of
// the writer.
//
//   - An event is a leaf of class event. A copy with the same bytes, producer and
//     sequence is dropped.
//   - An event with the id, type, run and data of an earlier event, but a new number, is a
//     repetition. It has no leaf, but its number counts as received.
//   - An event that reuses the id or number of an event with other content is a leaf of class
//     conflict.
//   - A message that is unreadable, or whose fields differ from its subject, is a leaf of
//     class quarantine.
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
// Writer and verifier never import each other. They share only the signed encodings, the schema and
// [OpenFile] of this package. The verifier trusts no value that the writer stored, and computes the
// tree and the effects of orders again.
//
// # Reading
//
// A [Reader] opens the file read-only, also while a writer runs. It compares each record with its
// leaf and the stored tree, and reports a difference as a [RecordError]. It does not check the
// root, the signatures, or that no record is missing. Its results are evidence only if the verifier
// or a [Proof] confirms them.
//
// # Files
//
// The writer and the verifier share the format, so all of it is in one package:
//
//	leaf*, chunk, checkpoint, tree, text, schema       the signed encodings and the database
//	keys, chain, rotations, pending, endorsement       keys and their changes
//	order*, rules*, retention, removal, targets        orders and their effects
//	reader, source, entry, select, stored              reading
//	run_*, summary*                                    runs and lists of runs
//	activity, awaited, received, repetitions, altered  questions of commands
package ledger
