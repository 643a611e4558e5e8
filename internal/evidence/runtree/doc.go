// Package runtree folds the events of runs into a tree for people. A run has steps,
// steps have tool calls, and calls can start the runs of sub-agents.
//
// The order and repetition of events do not matter. Ids identify events and calls, and
// the times of events decide the order. Of the summaries run.finished, step.finished
// and response.completed the latest counts. An event without a step belongs to the
// step of the latest prompt before it.
//
// The package uses no files and no clock. The memory of a [Fold] grows with the number
// of events and not with the size of their payloads.
package runtree
