// Package broker connects to NATS JetStream. The server is either external or the
// embedded server of a data directory. The first process that needs the embedded
// server runs it, and all other processes join it.
//
// The process with the lock on DataDir/nats runs the server. The folder contains:
//
//	lock       locked by the process that runs the server
//	url        address of the running server
//	port       last port, so that clients find the server again
//	name       server name, so that clients recognise the server
//	secret     password of the owner, created once
//	keys       seeds of services, one file for each durable
//	tenants    public keys of tenants' engines, one file for each key
//	auth       whether clients without credentials are accepted
//	jetstream  the store
//
// The embedded server syncs every write to disk before it acknowledges the write. It
// listens on the loopback only. Each service has the rights of its role. The engines
// of a tenant have a separate account. So have clients without credentials, which get
// the rights of a publisher or are rejected. A request without a right fails at once
// and appears in [Broker.Warnings]. The streams together stay below the limit of the
// store, and the store below the free disk space.
//
// A connection reconnects without a limit of attempts. When the process that ran the
// server exits, one of the joined processes runs it, and the others find its new
// address.
package broker
