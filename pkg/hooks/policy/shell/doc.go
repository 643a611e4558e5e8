// Package shell finds the programs that a shell command would start, without starting any of them.
//
// [Analyze] goes through a command in the order of execution and tracks directories, variables,
// loops, branches and functions. It also analyses programs that start other programs, such as sudo,
// env, timeout, bash -c, eval, xargs, find -exec and ssh. It returns each program with its known
// arguments. Each part that cannot be known before the command runs adds a [Doubt]. Examples are a
// program name in a variable, code from a pipe, and text that no shell can parse.
//
// Analyze reads neither files nor environment variables. It does not analyse scripts, make targets
// or code in other languages. It only searches one-liners such as "python -c" for shell commands.
// If several executions are possible, Analyze reports the more dangerous one. For example, it
// assumes that every branch runs and that every function is called.
//
// All functions are pure and can be called concurrently. The size, the nesting and the loops of one
// analysis have limits. Text longer than [MaxText] adds a doubt. A text that needs too
// many steps gets [DoubtTooLong], and then most of it is not analysed.
package shell
