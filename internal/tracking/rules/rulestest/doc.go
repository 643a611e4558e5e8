// Package rulestest compares the decisions of the rules with labelled histories.
//
// The labels of a [Scenario] are the issues that a person would have filed. [Deal] converts its
// history to CloudEvents, [Run] folds them like a tracker, and [Judge] compares the [Outcome],
// which has the format of `tracker whatif --json`, with the labels. If the rules leave a question
// open, the labels allow each answer.
package rulestest
