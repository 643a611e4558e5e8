// Package hookclient answers one hook payload of an agent in a short-lived process,
// and records it. It is the engine of the command publisher hook.
//
// The agent waits for the answer, so each step has a deadline. [Answer] returns
// within the timeout of the decision plus two seconds, even if a disk or a
// publisher hangs. The hooks file of the call decides first, then the publisher.
// The publisher is at a given URL, or it serves the data directory on
// its socket. The stronger verdict wins. If nothing decides, the agent goes on,
// unless the call fails closed.
//
// Events are redacted first. They go to the publisher at the URL, or into the
// outbox of the data directory that short-lived processes share. If another
// process blocks that outbox, they go into a spool file, which [Sweep] moves into
// the outbox later. When Answer returns, the events are on disk or with a
// publisher. If time runs out first, an event of kind custom says that one is
// missing.
//
// The package also has the parts that the publisher needs on its side of the
// socket: the path of the socket, the wire format and the folders.
package hookclient
