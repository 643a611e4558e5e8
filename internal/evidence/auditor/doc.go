// Package auditor is the service that reads the stream into the ledgers of all tenants
// and writes the AgentFS files from them.
//
// [Run] commits and signs a batch ledger by ledger. Then it commits its own position,
// and only then acknowledges the batch. After a crash the stream delivers messages
// again, and the ledgers recognise them. A lock allows one auditor for each data
// directory and tenant.
//
// The AgentFS files and the anchors follow the ledgers in the background and never
// block them. Auditors with their own data directories and copies of one key share a
// lease in the broker's bucket. A standby follows the stream but publishes no
// checkpoints until it has the lease.
//
// A damaged ledger is suspended and a slow one gets a backlog, so that the other
// tenants go on. Backlogs are limited to 16 ledgers and 48 MiB. Beyond that the whole
// stream waits.
//
// [Rebuild] rebuilds ledgers and AgentFS files from the stream.
//
// # Lock order
//
// A goroutine that holds several of these mutexes has locked them in this order.
// ledgers.mu is first, held by a batch until its position is committed. Then come
// batch.noteMu and backlog.mu. No other mutex of this package is locked while
// streamTracker.mu, scrubQueue.mu, fileSync.mu, sender.mu or budget.mu is held.
package auditor
