// Package beads keeps issues where people and agents work on them: in the
// format of Beads, behind one contract for all backends.
//
// A workspace is one tenant's issues, a [Backend]. What the tracker asks of it
// may be asked again at any time, after a crash for example: making an issue
// that exists, repeating a change and repeating a comment all do nothing. The
// changes of an issue come in the order of their times; one that is older than
// the latest changes nothing.
//
// [Store] is the embedded backend. Its truth is a table in the tracker's own
// database; for each workspace it writes .beads/issues.jsonl in Beads' export
// format, as a whole and atomically, sorted by id, so that `bd import` reads it
// and nobody ever reads half of it.
//
// Errors say what becomes of a call: see [ErrTransient] and its siblings.
package beads
