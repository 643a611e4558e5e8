// Package rulestest compares the decisions of the rules with labelled histories.
//
// A [Scenario] is a history together with labels, which are the issues that a person would have
// filed. [Deal] converts it to CloudEvents, [Run] folds them in the same way as a tracker, and
// [Judge] compares the [Outcome] with the labels. An Outcome has the format of `tracker whatif
// --json`. If the rules allow two results, the labels allow both, and the field Open of the
// scenario states the question.
package rulestest
