// Package tiles publishes ledgers as C2SP tlog-tiles logs for other tools, either over HTTP or as
// static files. A log has a checkpoint, tiles of hashes and tiles of entries. The entries are
// leaves, which do not contain payloads.
//
// The package only reads ledgers, and an auditor may write to them at the same time. It never
// publishes entries that do not match the tree.
package tiles
