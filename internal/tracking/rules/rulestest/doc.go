// Package rulestest compares the decisions of the rules with labelled histories.
//
// A [Scenario] is a history with the issues that a person would have filed. [Deal] converts it
// to CloudEvents, [Run] folds them like trackers do, and [Judge] compares the [Outcome] with
// the labels. An Outcome has the format of `tracker whatif --json`. If the rules allow two
// results, a label allows both, and Open states the question.
package rulestest
