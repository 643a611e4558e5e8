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
//
// # Files
//
// The parts of a file and the types of hooks share the reader and its problems, so they are one
// package:
//
//   - file.go, yaml.go, problem.go, schema.go: the file, its problems and its schema
//   - hook.go, keys.go, policies.go: the keys of hooks and policies
//   - match.go, tool_*.go, when.go: the calls for which a hook runs
//   - register.go: the hooks of a registry
//   - command.go, program.go, environ.go, process*.go: the programs of command hooks
//   - llm.go, prompt.go, remote.go: hooks that ask a model or a server
//   - cause.go: why a hook failed
package hookfile
