// Package policy holds ready-made rules for tool calls, and the matchers that
// choose the calls a hook is for.
//
// A policy is a plain value that hooks into one point: [hooks.PreToolUser] to
// judge a call, [hooks.PostToolUser] to clean its result. Each constructor works
// alone; [New] builds a whole [Config], and [Set.Register] adds it to a registry
// in a fixed order, failing closed: a policy that fails denies the call.
//
// Two modes exist. [Compat] is for rules that were written for another system:
// tool names, arguments and texts are compared as there, holes included.
// [Strict], the default, means what the rule says: paths are cleaned, each
// agent's name for a tool counts, commands are parsed (see the package shell)
// and not searched for substrings. The modes differ in both directions: compat
// denies `echo "rm -rf"`, strict denies `rm  -fr`.
//
// What is stricter never allows more: another blocked command, a write path
// less, a lower limit, a stricter verdict on what cannot be told.
//
// A reason tells the agent what to do about a denial. It names the rule and, for
// a write, the path; it never holds a command or other arguments.
//
// All policies may be called concurrently. None touches a file, starts a program
// or asks the network.
package policy
