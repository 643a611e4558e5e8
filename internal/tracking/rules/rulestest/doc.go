// Package rulestest compares the decisions of the rules with labelled histories. The labels of a
// [Scenario] are the issues that a person would have filed.
//
// [Deal] converts the history to CloudEvents, and [Run] folds them like a tracker. [Judge] compares
// the [Outcome], which has the format of `tracker whatif --json`, with the labels.
package rulestest
