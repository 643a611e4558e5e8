// Package platform is the wing of packages that know nothing about events,
// evidence or issues: the frame of all commands (cli), text for terminals
// (termtext), SQLite transactions (sqlitetx), file locks (filelock) and atomic
// file writes (atomicfile).
//
// Every wing may import these packages, except cli, which only commands import.
// They import no other package of this module. Start at the wing stream to follow an event.
package platform
