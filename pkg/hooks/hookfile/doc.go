// Package hookfile reads hooks and policies from a hooks.yaml and adds them to a registry.
//
// [Load] reports all problems of a file at once, each with its position. [File.Register] adds the
// policies and then the hooks, in the order of the file, or nothing if there is an error. Policies,
// matcher and llm hooks run last, because they judge the final value. There are five types of hooks:
//
//   - A command hook starts a program for each call. The program runs in a process
//     group, which is killed when the program exits or exceeds its timeout. Its
//     environment contains no credentials.
//   - A matcher hook applies a rule from the file.
//   - An llm hook asks a language model whether a call is safe.
//   - An http hook sends the call to a server.
//   - A nats hook sends the call to a decision service through [Options.Requester].
//
// A hook that fails returns a [hooks.Fault], which contains no part of the payload. Text from an
// agent never becomes part of a command line, a pattern, an expression or a template. Hooks can run
// concurrently. A hook that exceeds its deadline returns within the grace period of the registry.
package hookfile
