// Package store stores the results of package rules in SQLite: the state, each event with
// its decision, the issues that it touched, and their effects for the backend.
//
// A [Fold] writes in a transaction of the caller. The caller can commit other changes of
// the same step in that transaction. The tracker folds the stream into the file of a data
// directory ([File]). Package replay folds a history into a temporary database. The same
// events and the same configuration give the same result in both.
//
// [Read] gives a snapshot of the file while a tracker writes it. Functions with a
// connection read both kinds of databases. [Schema] returns the tables. Its version
// changes with every change of the tables and of their records, and the file is then
// rebuilt from the stream.
//
// Erased texts are replaced by [Erased]. Later decisions on an erased event contain no
// texts either.
package store
