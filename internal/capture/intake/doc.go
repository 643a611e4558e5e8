// Package intake limits the connections and open requests of an HTTP server. A [Conns] limits the
// connections. A [Room] limits the open requests and the bytes of their bodies in memory.
//
// A sender above its own limit gets status 429. At the limit for all senders, everyone gets status
// 503. Both responses have the header Retry-After.
package intake
