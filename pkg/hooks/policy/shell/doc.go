// Package shell finds the programs that a shell command would start, without
// starting any.
//
// [Analyze] follows directories, variables, loops, branches and functions in
// the order of execution. It looks inside of programs that start other
// programs, such as sudo, env, timeout, bash -c, eval, xargs, find -exec and
// ssh. It returns each program with the known arguments. Anything unknown
// becomes a [Doubt], such as the name of a program in a variable, code from a
// pipe, or text that no shell parses.
//
// Analyze reads neither files nor the environment. It does not look into
// scripts, make targets or code of other languages, except that it searches
// one-liners such as "python -c" for shell commands. If several executions are
// possible, it reports the more dangerous one. For example, every branch runs
// and every function is called.
//
// All functions are pure and can be called concurrently. Limits on size,
// nesting and loops bound the work. Text above [MaxText] causes a doubt.
package shell
