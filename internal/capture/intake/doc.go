// Package intake bounds the connections, requests and bodies that a server of the publisher holds
// at the same time.
//
//	Conns   the connections of a server, for each network that it listens on
//	Room    the requests that are handled, and the bytes of their bodies
//
// A sender above its own share gets status 429, and all senders get 503 if the server has no
// place left. Both have the header Retry-After.
package intake
