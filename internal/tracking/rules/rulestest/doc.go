// Package rulestest compares the decisions of the rules with labelled histories.
//
// A [Scenario] is a history with the issues that a person would have filed. [Deal]
// converts it to CloudEvents. [Run] folds them like trackers do: with one state, with a
// new state for each batch, or with several trackers over one store. The result is an
// [Outcome] in the format of `tracker whatif --json`, so that [Judge] can compare either
// with the labels. If the rules allow two results, a label allows both, and Open states
// the question.
package rulestest
