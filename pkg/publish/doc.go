// Package publish writes events to the stream without ever stalling the caller
// and without losing an event.
//
// [Publisher.Append] redacts, numbers, encodes and writes an event to an outbox
// on disk, and returns. A forwarder sends what is in the outbox to JetStream,
// in atomic batches, whenever the server is there. Nothing that happens to the
// server, a full disk included, is felt by the caller before the outbox has
// reached [Options.Quota].
//
// # Order
//
// An outbox is one producer. It numbers the events of each tenant from 1
// without a gap, in the order in which Append wrote them; concurrent calls are
// put into some order. They arrive in that order. Events of two tenants, or of
// two outboxes, have no order.
//
// Each batch holds, per tenant, events and behind them a manifest: the range of
// their numbers, which of them are missing and why, the root of their hashes,
// the hash of the manifest before. The manifest is stored only if it is the
// next of its chain, and a batch whole or not at all. So two processes cannot
// write under one producer id, and whoever has the manifests can tell what was
// sent.
//
// # Durability
//
// With [ProcessDurability] an event survives the end of the process once Append
// has returned, with [DiskDurability] a power cut too. The event leaves the
// outbox when the stream has acknowledged it. A consumer that drops what it has
// seen of (tenant, producer, sequence) sees each event once; without that it
// can see events of a batch twice that a full server disk cut in half.
//
// An outbox is opened by one process at a time. After any end, opening it goes
// on where it was:
//
//   - A record that was not written to its end is cut off: its Append had not
//     returned.
//   - A record that was damaged later is lost. It is recorded as a gap.
//   - Where the answer to a batch was lost, the last manifest of the stream
//     tells what is there; it counts if its root is that of our own records.
//   - If it is not, the outbox was restored from a copy, or a copy of it is in
//     use. What waits is given new numbers under a new producer id. The same is
//     done after a power cut that found the outbox open: what was sent may have
//     outlived what was on disk. Numbers that Append returned for waiting
//     events are void then; their ids are not. Where the chain of one tenant may
//     not be read then, and others' can, what waits of it can come again, with
//     the same ids: it holds up nobody.
//
// A number that will never come is named as missing in a manifest, and recorded
// as a gap.recorded event of its tenant with a reason: "shed" (the outbox was
// full, see [Shed]), "refused" (the stream takes other events of the tenant,
// but not this one), "damaged". If it is only named, the producer lost the
// record of the loss as well; if neither, the stream lost the event.
//
// A segment in which something is damaged is kept aside, as a copy in the folder
// "quarantine" of the outbox, with a message that says where and what to do.
//
// What the stream has acknowledged does not stay: the outbox forgets it on disk
// when nothing waits and [Options.KeepSent] has passed, at the latest when it is
// closed. What was damaged stays in "quarantine" until somebody removes it.
//
// # Sharing
//
// [AppendShared] appends to an outbox that many processes share, each of them
// for as long as one call takes. It needs no server and no process that runs.
// They take turns by a lock that ends with its holder; where one is killed while
// it writes, the next one goes on behind what is whole. One process, with
// [OpenShared], forwards what is there and what the others append, and appends
// as well. When it ends, another one takes over.
//
// The first OpenShared after a power cut gives what waits new numbers only if
// somebody forwarded when it happened: nobody else can have sent a number.
//
// # Runs
//
// Behind the run.finished of a run follows a run.sealed with the count and a
// digest of the run's events from this producer, seals left out. A run may go
// on; it is sealed again when [Options.SealDelay] has passed since its last
// event, or at [Publisher.Flush]. The counters of 10,000 runs are kept in
// memory, those of all other runs on disk, as long as the outbox exists.
//
// # Limits
//
// An event is at most [events.MaxBytes] long on the wire; larger payloads
// travel in front of it as blob.chunk events, next to each other, and must fit
// into the outbox together. Ids of tenants, producers and runs have at most 256
// bytes. The outbox takes up to [Options.Quota] and two segments of disk, and
// under [Options.Unique] 16 bytes of disk and some 40 bytes of memory for each
// id that it remembers, which are all without [Options.UniqueLast].
//
// What the stream does not take of one tenant, for want of permission for
// example, is set aside and tried again every few seconds, and others are sent
// meanwhile. It counts as waiting, and makes the outbox take up to four times
// that.
//
// Values of [Publisher] are safe for concurrent use.
package publish
