// Package bucket stores the newest signed checkpoint of each ledger in a key-value bucket at the
// broker. Users who can write to the files of the ledgers cannot write to the bucket. A [Lease]
// ensures that only one auditor at a time stores checkpoints.
//
// The lease needs no synchronised clocks, and no writes while only one process wants it. A process
// that wants the lease challenges its holder by writing its name into the lease. The holder answers
// by removing that name. If the holder does not answer within [TakeoverAfter], the challenger takes
// the lease. Every write is a compare-and-set on the last revision that the writer has read.
//
// [Lease.Put] writes the lease and the checkpoints in one atomic batch. If a process is suspended
// and another one takes the lease meanwhile, the first one can no longer store anything, because
// its batch names an old revision of the lease.
//
// A [Bucket] and a [Lease] may be used concurrently.
package bucket
