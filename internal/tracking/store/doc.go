// Package store stores the state, events, decisions, issues and pending effects of package rules in
// SQLite.
//
// A [Fold] writes in a transaction of the caller, who can commit other changes with it. The tracker
// uses a file in the data directory ([File]), and package replay a temporary database.
//
// [Read] opens a snapshot of the file, even while a tracker writes to it.
//
// [Erased] replaces erased texts. A later decision on an erased event also has no texts.
package store
