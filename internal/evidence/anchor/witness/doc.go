// Package witness asks C2SP witnesses to cosign checkpoints (C2SP tlog-witness).
//
// A witness remembers the largest tree of each log. It cosigns a checkpoint if a proof
// shows that the new tree continues that tree. A log that was rewritten or truncated
// gets no more cosignatures.
//
// The package does not depend on ledgers. It takes a signed checkpoint and a function
// that proves consistency with an older tree. It verifies every answer. The worst that a
// witness can do is to withhold its cosignature.
package witness
