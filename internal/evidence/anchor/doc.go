// Package anchor copies the newest checkpoints of the ledgers to anchors outside the
// ledgers' folder. An anchor is a file, a bucket at the broker, or witnesses that
// cosign checkpoints.
//
// [Anchors] run in the background. The ledgers never wait for them. Failed uploads are
// retried and logged, and [Anchors.Failure] reports them. Each anchor gets at most one
// checkpoint of a ledger per second.
//
// An anchor replaces a checkpoint only if the ledger continues it. A ledger that was
// truncated or rewritten therefore cannot overwrite the evidence of that.
//
// With a bucket, several auditors with copies of one key can share a lease (package
// bucket). Only the holder of the lease uploads to the bucket. The others compare the
// bucket's checkpoints with their own ledgers.
//
// No other lock is taken while a mutex of this package is held.
package anchor
