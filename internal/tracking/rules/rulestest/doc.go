// Package rulestest judges the tracker's decisions by labelled histories.
//
// A [Scenario] is a history and the issues that a person would have filed of it.
// [Deal] makes CloudEvents of it, [Run] folds them as trackers do: with one
// state, with a new one for each batch, or several trackers over one store. What
// comes of it is an [Outcome] in the form that `tracker whatif --json` prints,
// so that [Judge] can judge either. Where the rules leave two readings open, a
// label allows both, and Open asks the question.
package rulestest
