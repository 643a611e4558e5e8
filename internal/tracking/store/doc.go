// Package store stores the results of package rules in SQLite: the state, each event with its
// decision, the issues that it touched, and their effects for the backend.
//
// A [Fold] writes in a transaction of the caller, who can commit other changes of the same step
// with it. The tracker folds the stream into the file of a data directory ([File]). Package
// replay folds a history into a temporary database. The same events and the same configuration
// give the same result in both.
//
// [Read] gives a snapshot of the file while a tracker writes it. Functions with a connection
// read both kinds of databases.
//
// Erased texts are replaced by [Erased]. Later decisions on an erased event contain no texts
// either.
package store
