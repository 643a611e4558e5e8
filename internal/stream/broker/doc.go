// Package broker connects to NATS JetStream: to a broker somewhere, or to the
// embedded server of a data directory, which the first command that needs it
// runs and every other one joins.
//
// Who holds the lock on DataDir/nats runs the server. Its files there:
//
//	lock       held by the process that runs the server
//	url        the server's address, while it runs
//	port       the port that it had last, kept so that clients find it again
//	name       what the server calls itself, so that clients know it
//	secret     the password of the owner, made once
//	keys       the seeds of services, a file for each durable
//	tenants    the public keys of tenants' engines, a file for each
//	auth       whether clients without credentials are taken
//	jetstream  the store
//
// The embedded server syncs every write to disk before it acknowledges it, and
// listens on the loopback only. Each service has the rights of its role and no
// others, engines of a tenant have an account of their own, and so have
// strangers, if they are taken at all, who may write what a publisher may.
// [WriteConf] says the same
// to a server elsewhere. A right that is lacking ends what needs it at once, and
// is among [Broker.Warnings]. Streams have limits whose sum is below the server's,
// which is below what the disk can hold.
//
// A connection reconnects for ever. One that joined a data directory asks for
// the address anew each time, so that it finds the server wherever it is. When
// the process that ran it has ended, however, one of those that had joined it
// runs it from then on.
package broker
