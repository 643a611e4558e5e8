// Package broker connects to NATS JetStream. The server is either external or the embedded server
// of a data directory. The first process that needs the embedded server runs it, and other
// processes with the same data directory join it. When that process exits, one of the others starts
// the server again.
//
// DataDir/nats contains the files of the server:
//
//	lock       locked by the process that runs the server
//	url        address of the running server
//	port       last port, which a restarted server uses again
//	name       server name, with which clients recognise the server
//	secret     password of the owner, created once
//	keys       seeds of services, one file for each durable
//	tenants    public keys of tenants' engines, one file for each key
//	auth       whether clients without credentials are accepted
//	jetstream  the store
//
// DataDir/broker.json names the external broker of a data directory. If it exists, [Open] fails
// without a URL, because an embedded server would start with an empty stream. DataDir/broker.lock is
// locked during a change of the file. With [Options.Later], the connection stays closed until
// [Broker] has compared the server with this file.
//
// The embedded server syncs every write to disk before it acknowledges the write. It only listens
// on the loopback. Each service has the rights of its role. Engines and clients without credentials
// have accounts that are separate from the services. A request without the necessary right fails at
// once and appears in [Broker.Warnings].
//
// # Files
//
// External and embedded servers are used in the same way:
//
//	broker, connection, later, dial*, options, login, use connect
//	home, gate                                            the broker of a data directory
//	embedded, join, conf, disk, drift, standby, monitor   the embedded server
//	auth*, keys, tenants, restricted, creds, issuer       who may do what
//	streams, lookups, health, log                         streams and state
package broker
