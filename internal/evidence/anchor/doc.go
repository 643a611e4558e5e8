// Package anchor copies the newest checkpoints of the ledgers to anchors outside the ledgers'
// folder, so that an attacker who rewrites a ledger cannot hide this. An anchor is a file, a bucket
// at the broker, a group of witnesses that cosign checkpoints, or a time stamp authority.
//
// [Anchors] run in the background, so the ledgers never wait for them. Failed uploads are retried,
// and [Anchors.Failure] reports them.
//
// An anchor replaces a stored checkpoint only if the ledger continues it. If a ledger was truncated
// or rewritten, the stored checkpoint therefore remains as evidence.
//
// Several auditors with copies of the same key can share a lease, see package bucket. Only its
// holder uploads to the bucket, and the others compare the checkpoints there with their ledgers.
//
// No goroutine locks two mutexes of this package at the same time.
package anchor
