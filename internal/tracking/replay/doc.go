// Package replay folds a recorded history under another configuration and compares the results. It
// publishes nothing and changes no issue.
//
// A [Replay] applies the rules to a temporary database. The history is either a file of CloudEvents
// ([Input]) or the part of the stream that a tracker has read ([Stream]). The tracker need not run,
// and memory use is constant.
package replay
