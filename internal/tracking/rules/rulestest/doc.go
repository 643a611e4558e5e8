// Package rulestest tests the rules with histories for which a person has listed the issues to
// expect. A history with its expected issues is a [Scenario].
//
// [Deal] converts a scenario to CloudEvents, and [Run] applies the rules to them. [Judge] compares
// the resulting issues with the expected ones. The result of Run has the format of `tracker whatif
// --json`.
package rulestest
