// Package witness asks C2SP witnesses to cosign checkpoints (C2SP tlog-witness).
//
// A witness remembers the largest tree of a log that it has cosigned. It cosigns a checkpoint only
// if a proof shows that the checkpoint continues that tree. A log that was rewritten or truncated
// gets no more cosignatures.
//
// The package does not depend on ledgers. It verifies every answer. A witness can refuse a
// cosignature but cannot forge anything.
package witness
