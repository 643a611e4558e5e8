// Package witness asks C2SP witnesses to cosign checkpoints (C2SP tlog-witness).
//
// A witness remembers the largest tree that it has seen of each log, and cosigns a
// checkpoint when a proof shows that its tree continues that one. A log that its
// operator rewrites, or cuts off, gets no cosignatures any more.
//
// The package knows nothing of ledgers: it takes a signed checkpoint, and what
// proves that its tree continues an older one. What a witness answers is checked
// before it is returned; a witness cannot make anything worse than its cosignature
// missing.
package witness
