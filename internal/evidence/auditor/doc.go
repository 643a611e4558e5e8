// Package auditor is the service that writes the messages of the stream into the ledgers of all
// tenants, and the AgentFS files from the ledgers.
//
// For each batch of messages, [Run] first commits and signs the ledgers. Then it commits its
// position in the stream, and only then acknowledges the batch. After a crash the stream delivers
// the messages again, and the ledgers skip those that they already have. A lock allows only one
// auditor for each data directory and tenant.
//
// The AgentFS files and the anchors are updated from the ledgers in the background and never block
// them. Auditors with separate data directories and copies of the same key share a lease in the
// broker's bucket. A standby reads the stream too but publishes no checkpoints until it has the
// lease.
//
// If a ledger is damaged, it is suspended. If it is slow, its messages are queued in a backlog. The
// other tenants are not affected. Backlogs are limited to 16 ledgers and 48 MiB. Above that limit
// all tenants wait.
//
// [Rebuild] rebuilds ledgers and AgentFS files from the stream.
//
// # Lock order
//
// A goroutine that locks several of these mutexes must lock them in this order: ledgers.mu,
// batch.noteMu, backlog.mu. A batch holds ledgers.mu until its position is committed. While a
// goroutine holds streamTracker.mu, scrubQueue.mu, fileSync.mu, sender.mu or budget.mu, it locks no
// other mutex of this package.
package auditor
