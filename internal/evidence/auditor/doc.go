// Package auditor is the service that writes the messages of the stream into the ledgers of all
// tenants, and the AgentFS files from the ledgers.
//
// For each batch of messages, [Run] commits and signs the ledgers, then commits its position in
// the stream, and then acknowledges the batch. After a crash the stream delivers the messages
// again, and the ledgers skip those that they already have. A lock allows only one auditor for
// each data directory and tenant.
//
// The AgentFS files and the anchors are updated from the ledgers in the background and never
// block them. Auditors with separate data directories and copies of the same key share a lease
// in the broker's bucket. A standby reads the stream too, but publishes no checkpoints until it
// has the lease.
//
// A damaged ledger is suspended. Messages for a slow ledger are queued in a backlog. Other
// tenants are not affected, unless the backlogs exceed 16 ledgers or 48 MiB.
//
// [Rebuild] rebuilds ledgers and AgentFS files from the stream.
//
// # Lock order
//
// A goroutine that locks several of these mutexes must lock them in this order: ledgers.mu,
// batch.noteMu, backlog.mu. A batch holds ledgers.mu until its position is committed. While a
// goroutine holds streamTracker.mu, scrubQueue.mu, fileSync.mu, sender.mu or budget.mu, it
// locks no other mutex of this package.
package auditor
