// Package tiles publishes ledgers as C2SP tlog-tiles logs, over HTTP or as static files, so that
// other tools can follow them. A log has a checkpoint, tiles of hashes and tiles of entries. The
// entries are leaves, so no payloads are published.
//
// An auditor may write to the ledgers at the same time. Entries are compared with the tree, so
// that altered ones are never published.
package tiles
