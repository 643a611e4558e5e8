// Package anchor copies the newest checkpoints of the ledgers to anchors outside the ledgers'
// folder. An anchor is a file, a bucket at the broker, a group of witnesses that cosign
// checkpoints, or a time stamp authority. Time stamps are stored next to the ledgers.
//
// [Anchors] run in the background. The ledgers never wait for them. Failed uploads are retried and
// logged, and [Anchors.Failure] reports them. Each anchor gets at most one checkpoint of a ledger
// per second.
//
// An anchor replaces a stored checkpoint only if the ledger continues it. If a ledger was truncated
// or rewritten, the stored checkpoint remains as evidence.
//
// Several auditors with copies of the same key can share a lease in a bucket (see package bucket).
// Only the holder of the lease uploads checkpoints to the bucket. The other auditors compare these
// checkpoints with their ledgers.
//
// No goroutine locks two mutexes of this package at the same time.
package anchor
