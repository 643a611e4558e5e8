// Package tracking is the wing that turns failures and open work into issues.
//
// Data flow:
//
//	tracker   the service: reads the stream and applies the rules to each event
//	rules     fold events into issues, and explain each decision
//	deferred  finds work that an agent put off, in the text of a step
//	store     writes issues, decisions and effects to SQLite
//	beads     copies issues to a Beads workspace, as files or through its command
//	replay    folds a history under other rules and compares the results
//
// The tracker publishes each decision as an event, so the evidence wing records it.
package tracking
