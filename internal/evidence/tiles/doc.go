// Package tiles publishes ledgers as C2SP tlog-tiles logs, over HTTP or as static files, so that
// other tools can follow them. The entries of a log are leaves, so no payloads are published.
//
// An auditor may write to the ledgers at the same time. Entries are compared with the tree, so that
// altered ones are never published.
package tiles
