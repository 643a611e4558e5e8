// Package replay folds a recorded history again under a chosen configuration and
// compares the results. It publishes nothing and changes no issue.
//
// A [Replay] is one such fold. Package rules decides, and package store writes the
// decisions to a scratch database, which Close deletes. The history is either a file
// of CloudEvents ([Input]) or the stream as far as a tracker has read it ([Stream]).
// Memory is bounded for a history of any length.
//
// Callers with other questions about a history fold it with [Input.Fold] and read
// the database with [Replay.Conn] and the functions of package store.
//
// The tracker's database is read through package store only, so no tracker has to
// run.
package replay
