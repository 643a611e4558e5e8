// Package pins keeps the file of keys that a user has seen, like known_hosts of SSH. It is
// outside the data directories, so that an attacker who replaces ledgers and keys cannot
// change it. Each line is one entry:
//
//	hooktrail/acme "/var/lib/hooktrail" hooktrail+8f3c1a2b+AXr… 2026-11-20T09:14:07Z
//
// The fields are the origin of a ledger or "*" for all of a data directory, the absolute
// data directory or "-" for any, the verifier key, and the time at which the user first saw
// the key. Empty lines and lines that begin with "#" are kept.
//
// A change is atomic, and a lock file next to the file excludes concurrent writers.
package pins
