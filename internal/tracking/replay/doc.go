// Package replay folds a recorded history again under a chosen configuration and compares the
// results. It publishes nothing and changes no issue.
//
// A [Replay] is one such fold. Package rules decides, and package store writes the decisions to
// a scratch database, which Close deletes. The history is either a file of CloudEvents
// ([Input]) or the stream as far as a tracker has read it ([Stream]). No tracker has to run.
// Memory is bounded for a history of any length.
package replay
