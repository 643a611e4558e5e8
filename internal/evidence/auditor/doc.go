// Package auditor is the service that writes the messages of the stream into the ledgers of all
// tenants. It also writes the AgentFS files from the ledgers.
//
// For each batch of messages, [Run] first commits and signs the ledgers, then commits its position
// in the stream, and then acknowledges the batch. After a crash, the stream delivers the messages
// again, and the ledgers skip those that they have.
//
// The AgentFS files and the anchors are updated in the background and never block the ledgers.
// Auditors with copies of the same key share a lease in the broker's bucket. A standby also reads
// the stream but publishes no checkpoints until it has the lease.
//
// A damaged ledger is suspended, and messages for a slow ledger are queued in a backlog, so that
// other tenants are not affected.
//
// [Rebuild] rebuilds ledgers and AgentFS files from the stream.
//
// # Lock order
//
// A goroutine that locks several of these mutexes must lock them in this order: ledgers.mu,
// batch.noteMu, backlog.mu. A batch holds ledgers.mu until its position is committed. A goroutine
// that holds streamTracker.mu, scrubQueue.mu, fileSync.mu, sender.mu or budget.mu must not lock
// another mutex of this package.
//
// # Files
//
// The parts of the service share the set of ledgers and its lock order:
//
//	service, serving, resume, state, tracker, lock  the service and its position in the stream
//	batch, ledgers, admit, backlog, orders          from a message to a ledger
//	agentfs_sync, projector, sender, grants, renew  AgentFS files and checkpoints
//	scrub*, pruner, reports, revoked, key_rotate    work in the background
//	rebuild*                                        rebuild
package auditor
