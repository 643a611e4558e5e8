// Package tiles shows ledgers to other people's tools, as C2SP tlog-tiles logs:
// checkpoint, tiles of hashes and tiles of entries, over HTTP or as static files.
// Entries are leaves: who recorded what kind of event when, and its hash, never
// what an event says.
//
// It only reads, beside a running auditor too, and hands out nothing that does not
// lead to the signed root.
package tiles
