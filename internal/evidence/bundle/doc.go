// Package bundle takes records out of a ledger, so that others can read them and
// check them without it.
//
// A bundle is a zip file that proves what it holds: [WriteBundle] makes it, [Check]
// checks it, offline and from its first byte. Its files, in this order, are
//
//	bundle.json     what was selected, of which tenant, and how much that is
//	checkpoint.txt  the signed checkpoint that everything is below
//	ledger.pub      the verifier key of who made it
//	leaves.jsonl    a line for each leaf: its index, its text, its place in the stream
//	records.jsonl   a line for each leaf, in the same order: the record
//	again.jsonl     a line for each event that came again under another number
//	tree.txt        the hashes that lead from the leaves to the signed root
//	index.html      a page to read, which needs neither a server nor a network
//	SHA256SUMS      the SHA-256 of all the others, as sha256sum -c takes it
//
// The line of a record whose bytes were destroyed by order is null; its leaf's line
// says so, and the leaf of the event that brought the order is in the bundle too.
// A record that is a line of text and begins with a brace, as events and
// manifests do, is there byte for byte. Any other is a JSON string of its base64.
//
// tree.txt has one line for each largest subtree that holds no leaf of the bundle,
// from the left to the right: its level, its number among those of that level, and
// its hash in base64. Subtrees and leaves together cover the tree without a gap,
// so that its root can be computed in one pass and with a few hashes in memory. A
// bundle of the whole ledger needs none.
//
// The same ledger and the same selection give the same bytes. Neither writing nor
// checking holds more than a few records in memory. No name of a file in a bundle
// comes from a record.
package bundle
