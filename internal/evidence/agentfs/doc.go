// Package agentfs projects a tenant's ledger into AgentFS files: SQLite files
// that AgentFS tools open by id and read with their own client.
//
//	<agent>__<tenant>.db      tool calls, run and step records, large payloads
//	<agent>__<tenant>__2.db   the next file, once the first has 100,000 rows
//	.routes/<tenant>.db       which run lies in which file
//
// Ordering: events are applied in ledger order, and the files are a pure
// function of them, whatever the calls of [Writer.Sync], the crashes and the
// restarts in between. What comes again with more (run.finished, step.finished
// of one step, the result of one call) replaces what was there; of one producer's
// words on a run or a step the one with the highest number counts, whenever it
// arrives. A run lies in one file, which its first event in the ledger decides; a
// sub-agent's run lies in the file of its parent, where that is known. An agent's
// files tell of each other under the key "hooktrail:parts".
//
// Erasure: what an order destroyed in the ledger goes from the files when the
// order is behind them: the runs that it concerns are written anew from what is
// left, and then the file is, so that no free page or log keeps anything. The file
// says how far it has obeyed only when that is done. What is left is what a file
// has that is written from the ledger as it is then; only which file of an agent a
// run lies in may differ, where the event that decided it is gone.
//
// Durability: rows and the position that they stand for are committed together,
// in the file itself. A file that is deleted, or restored from an older copy,
// catches up from the ledger, the older copy when there is something to write into
// it, or to erase from it at the next start; so does one that another process had open. The routes are a cache: they are
// computed again when they are gone.
//
// Concurrency: AgentFS allows one process at a time on a file. Sync holds each
// for the time of one commit, and passes over a file that is in use; such files
// are written by a later Sync, while the others go on. Rows that other tools
// wrote into a file are never touched.
//
// Limits: a payload of more than 64 KiB lies in the file system tables and is
// named in its row as {"$file": path, "sha256": hash, "bytes": size}. One that
// came in parts is shown only when it is what its hash says.
package agentfs
