// Package store keeps in SQLite what package issues decides: the state, each
// event with its decision, the issues that it touched, and the effects that a
// backend is to have.
//
// A [Fold] writes it, into a connection and within a transaction of the caller's:
// with what else belongs to the same step, all is there when that is committed, or
// nothing. A service folds the stream into the file of a data directory ([File]); who
// asks what would be folds a history into a database of its own. What comes of the
// same events under the same configuration is the same in both.
//
// [Read] gives a snapshot of the file while somebody writes it, and the functions
// that take a connection read either kind. The tables are those of [Schema]: the
// version goes up with each change of them and of the records in them; the file is
// made anew from the stream then.
//
// What was erased by order says [Erased], and what is decided later on such an event
// does too.
package store
