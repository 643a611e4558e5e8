// Package auditor is the service that reads the stream into the ledgers of all tenants
// and writes the AgentFS files from them.
//
// [Run] commits and signs a batch ledger by ledger. Then it commits its own position,
// and only then acknowledges the batch. After a crash the stream delivers messages
// again, and the ledgers recognise them. A lock allows one auditor for each data
// directory and tenant. A second process waits for it.
//
// The AgentFS files and the anchors follow the ledgers in the background and never
// block them. One anchor is the broker's bucket. Auditors with their own data
// directories and copies of one key share its lease. A standby follows the stream but
// stores no checkpoints elsewhere until it has the lease.
//
// A damaged ledger is suspended and a slow one gets a backlog, so that the other
// tenants go on. Backlogs are limited to 16 ledgers and 48 MiB. Beyond that the whole
// stream waits.
//
// [Rebuild] makes ledgers and AgentFS files again from the stream.
//
// # Lock order
//
// A goroutine that holds several of these mutexes has locked them in this order:
//
//  1. ledgers.mu guards the set of ledgers, the backlogs and the suspended ledgers. A
//     batch holds it until its position is committed.
//  2. batch.noteMu guards the results of the ledgers that a batch writes in parallel.
//  3. backlog.mu guards the queue of one ledger.
//  4. streamTracker.mu, scrubQueue.mu, fileSync.mu, sender.mu and budget.mu guard their
//     own fields. No other mutex of this package is taken while one of them is held.
package auditor
