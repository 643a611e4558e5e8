// Package policy contains ready-made rules for tool calls, and matchers that select the calls for
// which a hook runs.
//
// A policy is a [hooks.PreToolUser], which allows or denies a call, or a [hooks.PostToolUser],
// which changes the result of a call. [New] creates all policies of a [Config]. [Set.Register] adds
// them to a registry in a fixed order. If a policy fails, the call is denied or its result is
// withheld.
//
// A policy has one of two modes. [Strict] is the default and enforces the intention of a rule. It
// cleans paths, knows the tool names of each agent, and parses commands with the package shell.
// [Compat] compares tool names, arguments and texts exactly like another system, with the same
// gaps. Neither mode is stricter in all cases. For example, compat denies "echo 'rm -rf'", and
// strict denies "rm -fr".
//
// More blocked commands, fewer write paths, a lower limit or a stricter verdict on unknown commands
// never allow more calls.
//
// The reason of a denial tells the agent how to continue. It names the rule and, for a write, the
// path, but contains no command and no other arguments.
//
// # Files
//
//   - set.go, preset.go, option.go: configuration, presets and settings that policies share
//   - tool.go, kind.go, match.go, command_pattern.go: names of tools, and matchers
//   - argument.go, options.go, script.go, location.go: arguments of calls, options of programs, the
//     analysed command, and directories
//   - ask_limit.go, commands.go, lockout.go, scrub.go, write_paths.go: the policies with a key
//   - written.go: the files that a command writes
//   - destructive*.go, remote_rules.go: the preset destructive-commands
//   - guard.go: the frame of the other presets
//   - secret_*.go, remote_table.go: the preset secret-files
//   - system_*.go: the preset system-changes
//   - supply_chain.go: the preset supply-chain
//   - safe.go: the preset ask-unless-safe
//
// All policies can be called concurrently. They do not access files, start programs or use the
// network.
package policy
