// Package hookfile loads hooks and policies from a hooks.yaml into a registry.
// A file loads completely or not at all.
//
// [Load] reports all problems of a file at once, each with its position.
// [File.Register] adds the policies and then the hooks, in the order of the
// file. There are five types of hooks:
//
//   - A command hook starts a program for each call. The program runs in a process
//     group, which is killed when the program ends or its time is over. Its
//     environment contains no credentials.
//   - A matcher hook applies a rule of the file.
//   - An llm hook asks a language model whether a call is safe.
//   - An http hook sends the call to a server.
//   - A nats hook sends the call to a decision service through [Options.Requester].
//
// A failed hook returns a [hooks.Fault], which contains nothing of the payload.
// The text of an agent never becomes part of a command line, a pattern, an
// expression or a template. Hooks can run concurrently. A hook that overruns
// its deadline returns within the grace period of the registry.
package hookfile
