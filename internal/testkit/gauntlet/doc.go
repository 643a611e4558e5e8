// Package gauntlet contains tests that attack the evidence.
//
// Real publishers create histories on a real server, and the auditor writes the ledgers. In each row
// of the table, an attacker has access to the file of a ledger, the signing key, the stream, or a
// producer. After a change, the attacker repairs the hashes, the tree, checkpoints, manifests and
// seals within reach. Positions are random. The tests print their seed, and HOOKTRAIL_GAUNTLET_SEED
// sets it.
//
// Each attack must get its required verdict in every trial. The test compares the results with
// docs/guarantees.md. With -update, it writes them there.
package gauntlet
