// Package witness asks C2SP witnesses to cosign checkpoints (C2SP tlog-witness).
//
// A witness cosigns a checkpoint if a proof shows that its tree continues the largest
// tree that the witness knows of that log. A log that was rewritten or truncated gets
// no more cosignatures.
//
// The package does not depend on ledgers. It verifies every answer. The worst that a
// witness can do is to withhold its cosignature.
package witness
