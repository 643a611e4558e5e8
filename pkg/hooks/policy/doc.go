// Package policy contains ready-made rules for tool calls, and matchers that
// select the calls of a hook.
//
// A policy is a [hooks.PreToolUser] that judges a call or a
// [hooks.PostToolUser] that changes its result. [New] creates all policies of a
// [Config]. [Set.Register] adds them to a registry in a fixed order. A failed
// policy denies the call or withholds its result.
//
// [Compat] compares tool names, arguments and texts like another system, with
// the same gaps. [Strict] is the default and enforces the intention of a rule.
// It cleans paths, knows the tool names of each agent, and parses commands with
// the package shell. Neither mode is stricter in all cases. Compat denies `echo
// "rm -rf"`, and strict denies `rm  -fr`.
//
// A configuration with more blocked commands, fewer write paths, a lower limit
// or a stricter verdict on unknown commands never allows more.
//
// A reason tells the agent how to react to a denial. It names the rule and, for
// a write, the path. It contains no command and no other arguments.
//
// All policies can be called concurrently. They do not access files, start
// programs or use the network.
package policy
