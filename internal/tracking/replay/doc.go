// Package replay folds a recorded history again under a chosen configuration and compares the
// results. It publishes nothing and changes no issue.
//
// A [Replay] uses package rules for decisions and package store for a temporary database. The
// history is either a file of CloudEvents ([Input]) or the stream as far as a tracker has read it
// ([Stream]). It needs no running tracker. Memory use is bounded, however long the history is.
package replay
