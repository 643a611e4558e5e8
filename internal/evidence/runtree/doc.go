// Package runtree folds the events of runs into a tree for people. A run has steps, steps have tool
// calls, and calls can start the runs of sub-agents.
//
// Events may be added in any order and more than once, because events and calls are identified by
// id and sorted by time. Only one run.finished of a run counts, see events.RunEnd, and only the latest
// step.finished of a step and response.completed of a response. An event without a step belongs to
// the step of the latest prompt before it.
//
// The memory of a [Fold] grows with the number of events but not with the size of the payloads.
package runtree
