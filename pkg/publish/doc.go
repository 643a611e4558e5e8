// Package publish writes events to the stream. It does not make the caller wait
// for the server, and it loses no event.
//
// [Publisher.Append] redacts, numbers and encodes an event, writes it to an outbox
// on disk, and returns. A forwarder sends the events of the outbox to JetStream in
// atomic batches whenever the server is available. A failure of the server,
// including a full disk, affects the caller only after the outbox has reached
// [Options.Quota].
//
// # Order
//
// An outbox is one producer. It numbers the events of each tenant from 1 without a
// gap, in the order in which Append wrote them. Concurrent calls get some order.
// The events arrive in that order. There is no order between the events of two
// tenants or of two outboxes.
//
// For each tenant, a batch has events followed by a manifest. The manifest lists
// the range of their numbers, the missing numbers with reasons, the root of their
// hashes, and the hash of the previous manifest. The server stores a batch as a
// whole or not at all, and only if its manifests continue their chains. So two
// processes cannot write under one producer id, and the manifests prove which
// events were sent.
//
// # Durability
//
// After Append has returned, an event survives the end of the process with
// [ProcessDurability], and a power cut with [DiskDurability]. The event leaves the
// outbox when the stream has acknowledged it. A consumer that filters repeats by
// (tenant, producer, sequence) sees each event once. Without the filter, it can see
// events of a batch twice if a full server disk cut the batch in half.
//
// Only one process can open an outbox. Open recovers from any kind of exit:
//
//   - It cuts off a record that was not written completely. The Append of that
//     record had not returned.
//   - It records a record that was damaged later as a gap.
//   - If the answer to a batch was lost, it compares the last manifest in the
//     stream with its own records, and settles the batch if the roots match.
//   - If they do not match, the outbox was restored from a copy, or a copy of it
//     is in use. Then waiting events get new numbers under a new producer id. The
//     same happens after a power cut while the outbox was open, because the stream
//     may have events that the disk lost. The numbers that Append returned for
//     waiting events are then void. Their ids stay valid. If the chain of one
//     tenant may not be read, its events can arrive again with the same ids, and
//     other tenants are not affected.
//
// Some numbers never arrive. A manifest lists each of them as missing, and a
// gap.recorded event of its tenant gives the reason. The reason is "shed" if the
// outbox was full (see [Shed]), "refused" if the stream takes other events of the
// tenant but not this one, and "damaged" for a damaged record. If a number is only
// listed, the producer lost the record of the loss as well. If it is neither
// listed nor recorded, the stream lost the event.
//
// Open copies a damaged segment to the folder "quarantine" of the outbox and logs
// what to do. The copies stay there until an operator removes them.
//
// Acknowledged events do not stay on disk. The outbox removes them when no event
// waits and [Options.KeepSent] has passed, and at the latest when it is closed.
//
// # Sharing
//
// [AppendShared] appends to an outbox that many processes share, each for the time
// of one call. It needs no server and no running process. The processes use a lock
// that the operating system releases at the end of its holder. If a process is
// killed during a write, the next one continues behind the last complete record.
// One process forwards all events with [OpenShared], and can append as well. When
// it exits, another process can take over.
//
// The first OpenShared after a power cut renumbers waiting events only if a
// process was forwarding at that time. Otherwise no number can have been sent.
//
// # Runs
//
// A run.sealed event follows the run.finished event of a run. It has the count and
// a digest of the run's events from this producer, without seals. A run may
// continue. Then it is sealed again when [Options.SealDelay] has passed since its
// last event, or at [Publisher.Flush]. The counters of 10,000 runs are in memory,
// and those of all other runs are on disk.
//
// # Limits
//
// An event has at most [events.MaxBytes] in the stream. Larger payloads travel in
// front of their event as consecutive blob.chunk events, and all of these must fit
// into the outbox together. Ids of tenants, producers and runs have at most 256
// bytes. The outbox takes up to [Options.Quota] and two segments of disk. With
// [Options.Unique] it also takes 16 bytes of disk and about 40 bytes of memory for
// each id that it remembers. Without [Options.UniqueLast] it remembers all ids.
//
// If the stream does not take the events of one tenant, for example for want of a
// permission, that tenant is suspended and retried every few seconds. Other tenants
// continue. The suspended events count as waiting, and the outbox can then take up
// to four times its size.
//
// A [Publisher] is safe for concurrent use.
package publish

// Two goroutines of a Publisher work on its state: the caller's goroutine appends
// to the outbox, and the forwarder's goroutine reads the log and delivers. The
// outbox is guarded by outbox.mu. The collector, the chains, the suspensions, the
// delivery and the cursor belong to the forwarder's goroutine and need no lock.
//
// The lock order, from the first lock to the last:
//
//  1. the lock file of the forwarding process (disk.Lock), from Open to Close
//  2. seals.mu
//  3. the lock file for changes of a shared outbox (sharing.lock, a disk.Mutex)
//  4. outbox.mu
//  5. segment.Log's commit.mu
//  6. segment.Log's mu
//
// outbox.begin takes 3 and 4. The mutexes of status, state.IDs and
// atomicbatch.Link come last: their holders take no other lock.
//
// The parts that are ideas of their own are in internal packages: segment (records
// and segment files), cursor (the progress of the delivery), state (losses, ids and
// the tail of a shared outbox), atomicbatch (the batch protocol of the server), blob
// (large payloads) and disk (file operations).
