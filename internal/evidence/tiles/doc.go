// Package tiles publishes ledgers as C2SP tlog-tiles logs, over HTTP or as static files,
// for other tools. A log has a checkpoint, tiles of hashes and tiles of entries. Entries
// are leaves, which do not contain payloads.
//
// The package only reads ledgers, also while an auditor writes them. It publishes nothing
// that does not lead to the signed root.
package tiles
