// Package hookclient is the command publisher hook: it answers one hook payload of an
// agent, and records it.
//
// The agent waits, so everything has its time: the command ends within --timeout
// and two seconds more, whatever hangs, and its status is one that the agent reads
// as what was decided. Hooks of --hooks decide here first, then the publisher that
// serves the data directory, by way of its socket, or that of --publisher; the
// stronger verdict counts. Nobody there is no reason to stop an agent, unless
// --fail-closed says so.
//
// An event goes, redacted, to the publisher of --publisher, else into the outbox of
// the data directory that short-lived processes share, else into a file of its own
// beside it, which [Sweep] brings into the outbox later. It is on disk, or with a
// publisher, when the command ends; what could not be kept in time is told by an
// event that says so.
//
// What the server's side of the socket needs is here too: the socket's place, the
// forms of question and answer, and the folders.
package hookclient
