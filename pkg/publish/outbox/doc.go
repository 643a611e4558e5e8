// Package outbox stores events on disk and forwards them to the stream. The caller does not wait for
// the server, and no event is lost. Use it through package publish, which connects it with NATS.
// Programs that only append to a shared outbox can use it directly. It does not import nats.go, so
// they start quickly.
//
// [Publisher.Append] redacts and numbers an event, writes it to an outbox on disk, and returns. A
// forwarder sends the events to JetStream in atomic batches. The caller notices a failure of the
// server only when the outbox reaches [Options.Quota].
//
// # Order
//
// An outbox is one producer. It numbers the events of each tenant from 1 without a gap. They arrive
// in that order. Tenants and outboxes have no order among each other.
//
// In a batch, a manifest comes after the events of each tenant. It contains their numbers, the root
// of their hashes, and the hash of the previous manifest. The server stores a batch as a whole or
// not at all, and only if its manifests continue their chains. Two processes can therefore not
// write under one producer id, and the manifests prove which events were sent.
//
// The outbox signs each manifest with its Ed25519 key, "producer.nk". [Options.Issuer] enrols the
// key, and [Publisher.ChangeKey] replaces it.
//
// # Durability
//
// After Append has returned, an event survives the end of the process with [ProcessDurability], and
// a power cut with [DiskDurability]. A consumer that filters duplicates by (tenant, producer,
// sequence) sees each event once. Duplicates occur only after the disk of the server was full.
//
// Only one process can open an outbox. Open recovers from any kind of exit:
//
//   - It removes an incomplete record at the end, because its Append had not returned.
//   - It records a damaged record as a gap, and copies the segment to the folder
//     "quarantine" of the outbox.
//   - If the acknowledgement of a batch was lost, it compares the last manifest in the
//     stream with the outbox. The batch counts as sent if they match.
//   - If another key signed the last manifest, it continues the chain after that manifest.
//     A batch that the manifest hides is sent again.
//   - If they do not match, or after a power cut while the outbox was open, unsent events
//     get new numbers under a new producer id. They keep their event ids.
//
// Manifests list the numbers that will never arrive. A gap.recorded event gives the reason, which is
// "shed" if the outbox was full, "refused" if the stream refuses only this event, or "damaged".
// Without this event, the producer lost the reason too. If a number is in no manifest, the stream
// lost the event.
//
// The outbox removes sent events after [Options.KeepSent] without an unsent event, and at Close.
//
// # Announcements
//
// A manifest announces that the producer is open or closed. An open producer signs the next
// manifest of the tenant within [Options.Heartbeat], until the tenant has had no event for 144
// intervals. The last number of a closed producer is final. Close announces the end. After a kill,
// verification reports the producer as silent until the outbox is opened again.
//
// # Sharing
//
// Many processes can append to one outbox with [AppendShared]. One process forwards all events with
// [OpenShared]. After its exit, another process can take over.
//
// # Runs
//
// A run.sealed event comes after the run.finished event of a run. It contains the count and a
// digest of the producer's events in the run. A run that continues is sealed again
// [Options.SealDelay] after its last event, or at [Publisher.Flush].
//
// # Limits
//
// An event has at most [events.MaxBytes] in the stream. Larger payloads are sent before their event
// as blob.chunk events, which must fit into the outbox together. Ids of tenants, producers and runs
// have at most 256 bytes. The outbox takes up to [Options.Quota] and two segments of disk.
// [Options.Unique] takes another 16 bytes of disk and about 40 bytes of memory for each id.
//
// Each tenant gets a share of a batch. A tenant with more events gets one of 16 separate readers.
// Until its events are sent, later events of all tenants stay on disk. If the stream does not
// accept the events of a tenant, for example because a permission is missing, that tenant is
// suspended and retried every few seconds. The outbox can then take up to four times the disk space
// of its unsent events.
package outbox

// Callers append to the outbox, which outbox.mu guards. The goroutine of the forwarder owns the
// cursor, the collector, the chains, the suspensions and the delivery.
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
// outbox.begin takes 3 and 4. The mutexes of status, state.IDs and transport.Link come last. No
// other lock is taken under them.
//
// # Files
//
// All files share the outbox and its lock order:
//
//	publish, options, append, outbox, numbering, gaps          append
//	forward, collect, backlog, lagging, deliver, suspend       forward
//	manifest, chains, signing, issuer, key_change, announce    manifests
//	recover, renumber, identity, quarantine, compact, remove   recover and clean up
//	shared, sharing, drain_shared, seals, journal              processes and runs
//	inspect, status                                            show the state
