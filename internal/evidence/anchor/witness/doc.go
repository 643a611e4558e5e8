// Package witness asks C2SP witnesses to cosign checkpoints (C2SP tlog-witness).
//
// A witness remembers the largest tree of a log that it has cosigned, and cosigns a checkpoint
// only if a proof shows that the checkpoint continues that tree. A log that was rewritten or
// truncated therefore gets no more cosignatures.
//
// The package does not depend on ledgers. It verifies every answer, so a witness can refuse a
// cosignature but cannot forge anything.
package witness
