// Package bundle exports records of a ledger for readers without access to the ledger.
//
// A bundle is a zip file that [WriteBundle] writes and [Check] verifies offline. It has these files
// in this order:
//
//	bundle.json     the tenant, the selection and the number of leaves
//	checkpoint.txt  the signed checkpoint that covers the bundle
//	ledger.pub      the verifier key of the ledger
//	witnessed.txt   the last cosigned checkpoint, empty if there is none
//	timestamp.txt   the newest time stamp of a checkpoint; only there if the ledger has one
//	leaves.jsonl    a line for each leaf, with its index, text and stream sequence
//	records.jsonl   a line for each leaf in the same order, with the record
//	again.jsonl     a line for each event that arrived again under another number
//	tree.txt        the hashes that connect the leaves to the signed root
//	index.html      a page that needs neither a server nor a network
//	selection.txt   the signed [Statement] about these files, empty without the ledger's key
//	SHA256SUMS      the SHA-256 of the other files, in the format of sha256sum -c
//
// docs/formats.md describes the lines of these files.
//
// The same ledger and selection give the same bytes. Writing and checking keep only a few records
// in memory, so a bundle can be large. File names are constant, so a record cannot choose where a
// file is unpacked.
package bundle
