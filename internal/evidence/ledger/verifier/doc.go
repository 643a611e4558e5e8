// Package verifier verifies ledgers. Its report has two verdicts. Integrity says whether anything
// was altered since it was signed. Completeness says whether the ledger has everything that the
// producers sent.
//
// # Files
//
// [Verify] reads the whole file of a ledger and trusts only the key. All steps add to one report:
//
//	verify.go                      open the file
//	snapshot.go                    begin one snapshot on three connections
//	names.go, keys.go              read names and keys
//	walk.go, leaf.go, arrivals.go  read leaves, arrivals and checkpoints in order
//	tree.go, signed.go             rebuild the tree, compare the checkpoints
//	records.go                     read the records on the second connection
//	pages.go                       run SQLite's check of the pages on the third one
//	orders.go, removed.go          compute the effects of orders, find destroyed records
//	trusted.go, witnesses.go       compare checkpoints from outside the ledger
//	completeness*.go               compare manifests, seals and numbers of producers and runs
//	doubts.go                      find all records that may be from other writers
//	report*.go                     conclude verdicts and exit status
//	export*.go                     check the records of an export
package verifier
