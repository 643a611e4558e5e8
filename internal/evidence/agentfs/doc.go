// Package agentfs projects a tenant's ledger into AgentFS files. These are SQLite files that
// AgentFS tools open by id.
//
//	<agent>__<tenant>.db      tool calls, run and step records, large payloads
//	<agent>__<tenant>__2.db   the next file after 100,000 rows
//	.routes/<tenant>.db       the file of each run
//
// Ordering. The contents of the files depend only on the ledger. Events apply in ledger order, and
// a later run.finished, step.finished or tool.result replaces an earlier one. Of two events of one
// producer, the higher sequence wins. The first event of a run decides its file. A sub-agent uses
// the file of its parent if that file is known. The key "hooktrail:parts" lists the files of an
// agent that has several.
//
// Erasure. After an erasure order, Sync rebuilds the erased runs from the ledger, and compacts the
// file to remove erased data from free pages and logs. The order is recorded in the file last, so
// that a crash repeats the erasure. A run may move to another file of its agent if its first event
// is gone.
//
// Durability. A file commits its rows together with their position. A deleted file catches up from
// the ledger at the next Sync. An older copy catches up with its next write, or at the next start
// if it has erased data.
//
// Concurrency. AgentFS allows one process per file, so Sync opens each file for one commit, and
// leaves files that are in use to a later Sync. Rows of other tools never change.
//
// Limits. A payload above 64 KiB is stored in the file system tables, and its row has a reference
// {"$file": path, "sha256": hash, "bytes": size}. A payload that arrived in chunks is shown only if
// its hash is right.
package agentfs
