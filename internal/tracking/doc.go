// Package tracking is the wing that turns failures and open work into issues.
//
// Data flow:
//
//	tracker   reads the stream and applies the rules to each event
//	rules     decides on issues and explains each decision
//	deferred  finds deferred work in the text of a step
//	store     writes issues, decisions and effects to SQLite
//	beads     copies issues to a Beads workspace, as files or with the command bd
//	replay    repeats the decisions on a history under other rules and compares the results
//
// The tracker publishes each decision as an event, which is recorded as evidence too.
package tracking
