// Package verifier judges ledgers. There are two verdicts: integrity, that nothing
// was altered since it was signed, and completeness, that everything is there that
// the producers sent.
//
// [Verify] reads a ledger's file from its first byte, and trusts nothing but the
// key. It shares the format with the package writer, and nothing that writes: the
// two never import each other. What it does, in the order in which a newcomer may read it:
//
//	verify.go          opens the file
//	snapshot.go        begins one snapshot on three connections
//	names.go, keys.go  what leaves and signatures refer to
//	walk.go, leaf.go   leaves, arrivals and checkpoints in their order, beside
//	tree.go, signed.go   them the tree and the digest, built again
//	records.go         the records, on the second connection: what each leaf must say
//	pages.go           the pages, on the third, by SQLite's own check
//	orders.go, removed.go  what orders had to destroy, and what is gone
//	trusted.go, cosigned.go  checkpoints that were kept elsewhere
//	completeness*.go   manifests, seals and numbers of each producer and run
//	report*.go         the verdicts and the exit status
//
// A [Judge] comes to the same verdict about completeness from records that are not
// in a ledger's file but in an export of it, or of a part.
package verifier
