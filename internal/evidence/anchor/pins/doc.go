// Package pins manages the file of keys that a user has seen, similar to known_hosts of SSH. The
// file is outside the data directories, so an attacker who can only replace ledgers and keys cannot
// change it. Each line is one entry:
//
//	hooktrail/acme "/var/lib/hooktrail" hooktrail+8f3c1a2b+AXr… 2026-11-20T09:14:07Z
//
// The first field is the origin of a ledger, or "*" for all ledgers of a data directory. The second
// is the absolute path of the data directory, or "-" for any. Then come the verifier key and the
// time at which the user first saw the key. Empty lines and lines that begin with "#" are kept.
//
// Changes are atomic and use a lock file next to it.
package pins
