// Package witness asks C2SP witnesses to cosign checkpoints (C2SP tlog-witness).
//
// A witness cosigns a checkpoint if a proof shows that its tree continues the largest tree of that
// log that the witness has cosigned before. A log that was rewritten or truncated gets no more
// cosignatures.
//
// The package does not depend on ledgers. It verifies every answer, so a witness can refuse its
// cosignature but cannot forge anything.
package witness
