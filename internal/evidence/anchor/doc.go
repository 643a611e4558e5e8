// Package anchor copies the newest checkpoints of the ledgers to anchors outside the ledgers'
// folder, so that an attacker who rewrites a ledger cannot hide this. An anchor is a file, a
// bucket at the broker, a group of witnesses that cosign checkpoints, or a time stamp authority,
// whose time stamps are stored next to the ledgers.
//
// [Anchors] run in the background, so the ledgers never wait for them. Failed uploads are retried
// and logged, and [Anchors.Failure] reports them. Each anchor gets at most one checkpoint of a
// ledger per second.
//
// An anchor replaces a stored checkpoint only if the ledger continues it. If a ledger was
// truncated or rewritten, the stored checkpoint therefore remains as evidence.
//
// Several auditors with copies of the same key can share a lease in a bucket (see package
// bucket). Only the holder of the lease uploads checkpoints to the bucket, while the other
// auditors compare these checkpoints with their ledgers.
//
// No goroutine locks two mutexes of this package at the same time.
package anchor
