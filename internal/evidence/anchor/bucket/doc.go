// Package bucket stores the newest signed checkpoint of each ledger in a key-value bucket at the
// broker. Users who can write to the files of the ledgers cannot write to the bucket. A [Lease]
// ensures that only one auditor at a time stores checkpoints.
//
// The lease needs no synchronised clocks, and no writes while only one process wants it. A second
// process challenges the holder by writing its name into the lease. The holder answers by removing
// that name. If it does not answer within [TakeoverAfter], the challenger takes the lease. Every
// write is a compare-and-set on the last revision that the writer has read.
//
// [Lease.Put] writes the lease and the checkpoints in one atomic batch that names the lease's
// revision. A process that has lost the lease therefore cannot store anything.
//
// A [Bucket] and a [Lease] are safe for concurrent use.
package bucket
