// Package gauntlet contains tests that attack the evidence.
//
// Real publishers create histories on a real server, and the auditor writes the ledgers. In each
// row of the table, an attacker has access to the ledger file, the signing key, the stream, or a
// producer. After a change, the attacker repairs all hashes and signatures within reach. Positions
// are random. The tests print their seed, and HOOKTRAIL_GAUNTLET_SEED sets it.
//
// Each attack must get its required verdict in every trial. The test compares the results with
// docs/guarantees.md, or with -update writes them there.
package gauntlet
