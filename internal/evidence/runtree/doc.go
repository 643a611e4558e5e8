// Package runtree folds the events of runs into what a person looks at: a run,
// its steps, the tool calls in them, and the runs of its sub-agents.
//
// The order in which events are added does not matter, nor how often one comes:
// events are known by their id, calls by theirs, and what happened when is read
// from their times. Of the events that sum something up (run.finished,
// step.finished, response.completed) the latest counts. Events that do not say
// of which step they are belong to the one that the latest prompt before them
// began, as agents that name no step work.
//
// The package is pure: it reads no file and no clock. A [Fold] takes memory in
// the number of events, not in the size of what they carry.
package runtree
