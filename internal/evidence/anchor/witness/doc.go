// Package witness asks C2SP witnesses to cosign checkpoints (C2SP tlog-witness).
//
// A witness cosigns a checkpoint only if a proof shows that it continues the largest tree that the
// witness has cosigned. A log that was rewritten or truncated therefore gets no more cosignatures.
//
// The package does not depend on ledgers. It verifies every answer, so a witness can refuse a
// cosignature but cannot forge anything.
package witness
