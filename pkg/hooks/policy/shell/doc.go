// Package shell finds the programs that a shell command would start, without starting any of them.
//
// [Analyze] goes through a command in the order of execution and tracks directories, variables,
// loops, branches and functions. It looks inside of programs that start other programs, such as
// sudo, env, timeout, bash -c, eval, xargs, find -exec and ssh. It returns each program with its
// known arguments. Each part that cannot be known before the command runs adds a [Doubt]. Examples
// are a program name in a variable, code from a pipe, and text that no shell can parse.
//
// Analyze reads neither files nor environment variables. It does not look into scripts, make
// targets or code in other languages, except that it searches one-liners such as "python -c" for
// shell commands. If several executions are possible, Analyze reports the more dangerous one. For
// example, it assumes that every branch runs and that every function is called.
//
// All functions are pure and can be called concurrently. Size, nesting and loops have limits, so
// that the work of one analysis is bounded. Text longer than [MaxText] adds a doubt.
package shell
