// Package runtree folds the events of runs into a tree for people. A run has steps,
// steps have tool calls, and calls can start the runs of sub-agents.
//
// The result does not depend on the order in which events are added, and an event may be added more
// than once. Events and calls are identified by their ids and sorted by their times. If there are
// several run.finished events of a run, the latest is used. The same applies to step.finished of a
// step and to response.completed of a response. An event without a step belongs to the step of the
// latest prompt before it.
//
// The package reads no files and does not use the current time. The memory of a [Fold] grows with
// the number of events, but not with the size of their payloads.
package runtree
