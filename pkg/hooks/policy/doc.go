// Package policy contains ready-made rules for tool calls, and matchers that select
// the calls of a hook.
//
// A policy is a value with the methods of a hook: [hooks.PreToolUser] judges a call,
// and [hooks.PostToolUser] changes its result. Each policy has a constructor. [New]
// creates all policies of a [Config]. [Set.Register] adds them to a registry in a
// fixed order. They fail closed, so that a failed policy denies the call.
//
// There are two modes. [Compat] takes over rules from another system. It compares tool
// names, arguments and texts like that system, with the same gaps. [Strict] is the
// default and enforces the intention of a rule. It cleans paths, knows the tool names
// of each agent, and parses commands with the package shell. Neither mode is stricter
// in all cases. For example, compat denies `echo "rm -rf"`, and strict denies
// `rm  -fr`.
//
// A stricter configuration never allows more. It has more blocked commands, fewer
// write paths, a lower limit, or a stricter verdict on unknown commands.
//
// A reason tells the agent how to react to a denial. It names the rule and, for a
// write, the path. It contains no command and no other arguments.
//
// All policies can be called concurrently. They do not access files, start programs
// or use the network.
package policy
