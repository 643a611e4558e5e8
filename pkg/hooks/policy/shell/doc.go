// Package shell tells which programs a shell command would start, without
// starting any.
//
// [Analyze] parses the text, follows it in order (directories, variables,
// loops, branches, functions) and takes off what only wraps another program:
// "sudo", "env", "timeout", "bash -c", "eval", "xargs", "find -exec", "ssh" and
// their like. Each program that is found comes with its arguments as far as
// they can be known. What cannot be known is a [Doubt], never taken for
// harmless: a program's name out of a variable, code that comes from a pipe,
// text that no shell parses.
//
// It reads the text alone. Files, the environment and the programs' own doing
// are out of its sight: a script that is run by name, a make target and code of
// other languages stay what they are, except that calls of a shell in the code
// of a one-liner ("python -c") are looked for. Where both ways are possible, it
// reports the more dangerous: a branch that might run does run, a function that
// is defined is called.
//
// All functions are pure and may be called concurrently. The same text gives
// the same findings. Work is bounded: text over [MaxText], nesting and loops
// beyond what people write end in a doubt.
package shell
