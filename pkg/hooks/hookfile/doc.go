// Package hookfile makes hooks of a hooks.yaml.
//
// [Load] reads a whole file and finds everything that is wrong with it at once,
// each with its place; a file either loads as a whole or not at all. What it
// returns is [File.Register]ed with a registry: first the policies, then the
// hooks in the order of the file.
//
// Five types of hooks exist. A command hook starts a program for each call, in a
// process group that is killed when it has ended or its time is over, with an
// environment that holds no credentials. A matcher hook is a rule in the file. An
// llm hook asks a language model whether a call is safe, an http hook a server,
// a nats hook a decision service. What any of them fails at is a failure of the
// hook, with a [hooks.Fault] as its cause that names no payload; the registry
// counts it as on_failure says. Nothing that an agent says becomes part of a
// command line, a pattern, an expression or a template.
//
// The functions of hooks may be called concurrently, and return within the
// grace of the registry after their deadline.
package hookfile
