// Package replay applies another configuration to a recorded history and compares the results. It
// publishes nothing and changes no issue.
//
// A [Replay] applies the rules to a temporary database. The history is either a file of CloudEvents
// ([Input]) or the part of the stream that a tracker has read ([Stream]). The tracker need not run.
// Memory use does not depend on the length of the history.
package replay
