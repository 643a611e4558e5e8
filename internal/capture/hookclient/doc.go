// Package hookclient answers one hook payload of an agent in a short-lived process, and records it.
// It implements the command publisher hook. The program hooktrail-hook runs it only if no publisher
// answers, see package hooksocket.
//
// The agent waits for the answer, so [Answer] returns within the timeout of the decision plus 2.2
// seconds. First the hooks file of the call decides, and then the publisher. The stricter verdict
// wins. If neither decides, the agent continues, unless the call fails closed.
//
// Redacted events go to the publisher at the URL, or into the shared outbox of the data directory.
// If another process blocks that outbox, they go into a spool file, which [Sweep] later empties.
// When Answer returns, the events are on disk or with a publisher. If time runs out, a custom event
// reports the missing event.
package hookclient
