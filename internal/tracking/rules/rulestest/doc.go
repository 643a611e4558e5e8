// Package rulestest compares the decisions of the rules with labelled histories. The labels of a
// [Scenario] are the issues that a person would have filed. If several answers are right, the
// labels allow each of them.
//
// [Deal] converts the history to CloudEvents, and [Run] folds them like a tracker. [Judge] compares
// the [Outcome] with the labels. An Outcome has the format of `tracker whatif --json`.
package rulestest
