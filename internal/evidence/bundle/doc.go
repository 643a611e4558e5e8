// Package bundle exports records of a ledger for readers without access to the ledger.
//
// A bundle is a zip file that [WriteBundle] writes and [Check] verifies offline. It has
// these files in this order:
//
//	bundle.json     the tenant, the selection and the number of leaves
//	checkpoint.txt  the signed checkpoint that covers the bundle
//	ledger.pub      the verifier key of the ledger
//	witnessed.txt   the last cosigned checkpoint, empty if there is none
//	leaves.jsonl    a line for each leaf, with its index, text and stream sequence
//	records.jsonl   a line for each leaf in the same order, with the record
//	again.jsonl     a line for each event that arrived again under another number
//	tree.txt        the hashes that connect the leaves to the signed root
//	index.html      a page that needs neither a server nor a network
//	selection.txt   the signed [Statement] about these files, empty without the ledger's key
//	SHA256SUMS      the SHA-256 of the other files, in the format of sha256sum -c
//
// A record is stored byte for byte if it is one line that begins with a brace. Any other
// record is a JSON string of its base64. The line of an erased record is null, its leaf
// names the erasure order, and the bundle has the leaf of that order too.
//
// Each line of tree.txt is one of the largest subtrees without a leaf of the bundle, from
// left to right, with its level, its index in the level, and its hash in base64. Subtrees
// and leaves together cover the tree. A bundle of the whole ledger has no subtrees.
//
// The same ledger and selection give the same bytes. Writing and checking keep only a few
// records in memory. No file name in a bundle comes from a record.
package bundle
