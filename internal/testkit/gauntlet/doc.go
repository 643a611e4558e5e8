// Package gauntlet attacks the evidence, in its tests alone.
//
// Histories are made by real publishers on a real server, and written by the
// auditor. An attacker then has what the row of the table says: the file of a
// ledger, the signing key too, the stream, or a producer of their own; and
// repairs everything within reach behind the attack: hashes, the tree,
// checkpoints, manifests, seals. A chain that is tampered with and not repaired
// proves nothing. Positions are random; the seed is printed, and
// HOOKTRAIL_GAUNTLET_SEED sets it.
//
// Each attack has its required verdict in every trial. What was found is written
// into docs/guarantees.md by the test, with -update, and compared with it
// without.
package gauntlet
