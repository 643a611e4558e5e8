// Package bucket keeps the newest signed checkpoint of each ledger in a
// key-value bucket at the broker, where whoever writes to the ledgers' files does
// not reach, and sees to it that one auditor at a time puts them there.
//
// A [Lease] names who that is. Nothing about it depends on clocks that agree, and
// nothing is written while nobody else wants it: a contender asks by writing its
// name beside the holder's, and who holds the lease takes that off again. A holder
// that does not within [Patience] has stopped, and the contender puts itself in its
// place. Every write is a compare-and-set on the revision that its writer saw last.
//
// [Lease.Put] writes the lease and the checkpoints in one atomic batch, each
// fenced by its revision. A process that was stopped and goes on therefore stores
// nothing once another one has taken over, however far it had got: its batch names
// a revision of the lease that is over.
//
// A [Bucket] and a [Lease] may be used concurrently.
package bucket
