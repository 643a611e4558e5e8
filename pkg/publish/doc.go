// Package publish writes events to the stream. It does not make the caller wait
// for the server, and it loses no event.
//
// [Publisher.Append] redacts and numbers an event, writes it to an outbox on disk,
// and returns. A forwarder sends the events of the outbox to JetStream in atomic
// batches whenever the server is available. A failure of the server affects the
// caller only after the outbox has reached [Options.Quota].
//
// # Order
//
// An outbox is one producer. It numbers the events of each tenant from 1 without a
// gap, in the order in which Append wrote them, and they arrive in that order.
// Concurrent calls get some order. There is no order between two tenants or two
// outboxes.
//
// For each tenant, a batch has events followed by a manifest with the range of
// their numbers, the missing numbers, the root of their hashes, and the hash of the
// previous manifest. The server stores a batch as a whole or not at all, and only
// if its manifests continue their chains. So two processes cannot write under one
// producer id, and the manifests prove which events were sent.
//
// # Durability
//
// After Append has returned, an event survives the end of the process with
// [ProcessDurability], and a power cut with [DiskDurability]. A consumer that
// filters repeats by (tenant, producer, sequence) sees each event once. Without
// the filter it can see some events twice after a full server disk.
//
// Only one process can open an outbox. Open recovers from any kind of exit:
//
//   - It cuts off an incomplete record, whose Append had not returned.
//   - It records a record that was damaged later as a gap, and keeps a copy of the
//     segment in the folder "quarantine" of the outbox.
//   - If the answer to a batch was lost, it compares the last manifest in the
//     stream with its own records, and settles the batch if the roots match.
//   - If they do not match, the outbox was restored from a copy, or a copy of it
//     is in use. Waiting events then get new numbers under a new producer id. The
//     same happens after a power cut while the outbox was open. The old numbers of
//     these events are void, but their ids stay valid.
//
// A manifest lists each number that will never arrive. A gap.recorded event gives
// the reason: "shed" if the outbox was full (see [Shed]), "refused" if the stream
// takes other events of the tenant but not this one, "damaged" for a damaged
// record. If a number is only listed, the producer also lost the record of the
// loss. If it is neither listed nor recorded, the stream lost the event.
//
// The outbox removes sent events from the disk when no event waits and
// [Options.KeepSent] has passed, and at the latest when it is closed.
//
// # Sharing
//
// [AppendShared] appends to an outbox that many processes share, each for the time
// of one call. It needs no server and no running process. If a process is killed
// during a write, the next one continues behind the last complete record. One
// process forwards all events with [OpenShared], and can append as well. When it
// exits, another process can take over.
//
// # Runs
//
// A run.sealed event follows the run.finished event of a run. It has the count and
// a digest of the run's events from this producer, without seals. If the run
// continues, it is sealed again when [Options.SealDelay] has passed since its last
// event, or at [Publisher.Flush].
//
// # Limits
//
// An event has at most [events.MaxBytes] in the stream. Larger payloads travel in
// front of their event as blob.chunk events, which must fit into the outbox
// together. Ids of tenants, producers and runs have at most 256 bytes. The outbox
// takes up to [Options.Quota] and two segments of disk. With [Options.Unique] it
// takes 16 bytes of disk and about 40 bytes of memory for each id that it
// remembers.
//
// If the stream does not take the events of one tenant, for example for want of a
// permission, that tenant is suspended and retried every few seconds, and other
// tenants continue. The outbox can then take up to four times its size.
//
// A [Publisher] is safe for concurrent use.
package publish

// The callers' goroutines append to the outbox, which outbox.mu guards. The
// forwarder's goroutine reads the log and delivers; the cursor, the collector, the
// chains, the suspensions and the delivery belong to it and need no lock.
//
// The lock order, from the first lock to the last:
//
//  1. the lock file of the forwarding process, from Open to Close
//  2. seals.mu
//  3. sharing.lock, the lock file for changes of a shared outbox
//  4. outbox.mu
//  5. commit.mu of segment.Log
//  6. mu of segment.Log
//
// outbox.begin takes 3 and 4. The mutexes of status, state.IDs and
// atomicbatch.Link come last, because their holders take no other lock.
