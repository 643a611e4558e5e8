// Package store stores the results of package rules in SQLite. It stores the state, each event with
// its decision, the issues that a decision touched, and the effects for the backend.
//
// A [Fold] writes in a transaction of the caller, who can commit other changes with it. The tracker
// folds the stream into a file in the data directory ([File]). Package replay folds a history into
// a temporary database.
//
// [Read] opens a snapshot of the file, even while a tracker writes to it. Functions that take a
// connection work on both kinds of databases.
//
// [Erased] replaces erased texts. A later decision on an erased event also has no texts.
package store
