// Package publish writes events to the stream. It does not make the caller wait
// for the server, and it loses no event.
//
// [Publisher.Append] redacts and numbers an event, writes it to an outbox on disk,
// and returns. A forwarder sends the events to JetStream in atomic batches. The
// caller notices a failure of the server only at [Options.Quota].
//
// # Order
//
// An outbox is one producer. It numbers the events of each tenant from 1 without a
// gap, and they arrive in that order. There is no order between tenants or outboxes.
// Events of one tenant do not wait behind thousands of another one.
//
// In a batch, a manifest follows the events of each tenant. It has the range of
// their numbers, the missing numbers, the root of their hashes, and the hash of the
// previous manifest. The server stores a batch as a whole or not at all, and only
// if its manifests continue their chains. So two processes cannot write under one
// producer id, and the manifests prove which events were sent. The outbox has an
// Ed25519 key, "producer.nk", and signs each manifest. A copy of the key allows
// others to write in its name. [Options.Issuer] enrols the key, and
// [Publisher.ChangeKey] replaces it.
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
//   - It records a damaged record as a gap, and copies the segment to the folder
//     "quarantine" of the outbox.
//   - If the answer to a batch was lost, it compares the last manifest in the
//     stream with its own records, and settles the batch if the roots match.
//   - If another key signed the last manifest, it ignores its content and continues
//     after it. If that manifest hides a batch of the outbox, the batch is sent again.
//   - If the roots do not match, or after a power cut while the outbox was open, waiting
//     events get new numbers under a new producer id. Their ids stay valid.
//
// A manifest lists each number that will never arrive. A gap.recorded event gives
// the reason. It is "shed" if the outbox was full, "refused" if the stream refuses
// this event but takes others of its tenant, or "damaged". If a number is listed
// without a gap.recorded, the producer also lost the reason. If a number is in no
// manifest, the stream lost the event.
//
// The outbox removes sent events once no event has waited for [Options.KeepSent],
// and at Close.
//
// # Announcements
//
// A manifest announces one of two states. Either the producer is open and will sign the next
// manifest of the tenant within [Options.Heartbeat], or it has closed and the last number is
// final. Without events an
// open outbox signs heartbeats for a tenant until it has had no event for 144 intervals.
// Close announces the end in each tenant without waiting events. A process that was killed
// cannot do that, so verification reports the producer as silent until the outbox is opened
// again. Events never wait for an announcement. [Options.Journal] names a folder outside of
// the outbox, in which the outbox is listed so that its loss is noticed.
//
// # Sharing
//
// Many processes can append to one outbox with [AppendShared], each for the time of
// one call. One process forwards all events with [OpenShared]. When it exits,
// another process can take over.
//
// # Runs
//
// A run.sealed event follows the run.finished event of a run. It has the count and
// a digest of the events of the run that this producer sent, without seals. A run that
// continues is sealed again when [Options.SealDelay] has passed since its last
// event, or at [Publisher.Flush].
//
// # Limits
//
// An event has at most [events.MaxBytes] in the stream. Larger payloads travel in
// front of their event as blob.chunk events, which must fit into the outbox
// together. Ids of tenants, producers and runs have at most 256 bytes. The outbox
// takes up to [Options.Quota] and two segments of disk. With [Options.Unique] it
// takes 16 bytes of disk and about 40 bytes of memory for each id.
//
// The forwarder divides a batch between the tenants. A tenant with more events than its
// share is read by a separate reader. There are up to 16 such readers. Until its events
// are sent, later events of other tenants also stay on disk.
//
// If the stream does not accept the events of a tenant, for example because a permission is
// missing, the tenant is suspended and retried every few seconds. Other tenants
// continue. The outbox can then take up to four times the disk space of the waiting
// events.
package publish

// Callers append to the outbox, which outbox.mu guards. The forwarder's goroutine
// owns the cursor, the collector, the chains, the suspensions and the delivery.
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
