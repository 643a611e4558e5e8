// Package store stores the results of package rules in SQLite. These are the state, each event
// with its decision, the issues that a decision touched, and the effects for the backend.
//
// A [Fold] writes in a transaction of the caller, so the caller can commit other changes
// together with the results. The tracker folds the stream into a file in the data directory
// ([File]). Package replay folds a history into a temporary database. The same events and the
// same configuration give the same result in both.
//
// [Read] opens a snapshot of the file, even while a tracker writes to it. The functions that
// take a connection work on both kinds of databases.
//
// [Erased] replaces texts that were erased. If an erased event gets its decision later, that
// decision contains no texts either.
package store
