// Package bucket stores the newest signed checkpoint of each ledger in a key-value
// bucket at the broker. Users who can write to the ledgers' files cannot write to the
// bucket. A [Lease] ensures that one auditor at a time stores checkpoints.
//
// The lease does not need synchronised clocks, and an undisputed lease causes no
// writes. A candidate challenges the holder by writing its own name into the lease. The
// holder answers by removing that name. If the holder does not answer within
// [TakeoverAfter], the candidate takes the lease. Every write is a compare-and-set on
// the last revision that the writer has read.
//
// [Lease.Put] writes the lease and the checkpoints in one atomic batch. A process that
// was suspended during a takeover therefore stores nothing, because its batch names an
// old revision of the lease.
//
// A [Bucket] and a [Lease] may be used concurrently.
package bucket
