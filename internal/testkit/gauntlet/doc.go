// Package gauntlet contains tests that attack the evidence.
//
// Real publishers create histories on a real server, and the auditor writes the ledgers. Each row
// of the table gives an attacker some access: the file of a ledger, the signing key, the stream, or
// a producer. After a change the attacker repairs all data within reach: hashes, the tree,
// checkpoints, manifests and seals. Positions are random. The tests print their seed, and
// HOOKTRAIL_GAUNTLET_SEED sets it.
//
// Each attack must get its required verdict in every trial. With -update the test writes the
// results to docs/guarantees.md, otherwise it compares them.
package gauntlet
