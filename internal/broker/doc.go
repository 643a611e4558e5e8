// Package broker connects to NATS JetStream: to a broker somewhere, or to the
// embedded server of a data directory, which the first command that needs it
// runs and every other one joins.
//
// Who holds the lock on DataDir/nats runs the server. Its files there:
//
//	lock       held by the process that runs the server
//	url        the server's address, while it runs
//	port       the port that it had last, kept so that clients find it again
//	secret     the password of our own commands, made once
//	jetstream  the store
//
// The embedded server syncs every write to disk before it acknowledges it,
// listens on the loopback only, and takes from strangers there nothing but what
// a publisher may do. Streams have limits whose sum is below the server's,
// which is below what the disk can hold.
//
// A connection reconnects for ever. One that joined a data directory asks for
// the address anew each time, so that it finds the server after another process
// has taken it over.
package broker
