// Package tiles publishes ledgers as C2SP tlog-tiles logs for other tools, over HTTP or as static
// files. A log has a checkpoint, tiles of hashes and tiles of entries. The entries are leaves, so
// no payloads are published.
//
// An auditor may write to the ledgers at the same time. Entries that do not match the tree are
// never published.
package tiles
