package broker

import (
	"errors"
	"net"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

var errGateClosed = errors.New("the server is not checked yet")

type gate struct {
	isOpen atomic.Bool
	next   nats.CustomDialer
}

// install must be the last [nats.Option], because options from a NATS context can replace the
// dialer.
func (g *gate) install(o *nats.Options) error {
	g.next = o.CustomDialer
	if g.next == nil {
		g.next = &net.Dialer{Timeout: o.Timeout}
	}
	o.CustomDialer = g
	return nil
}

// Dial implements nats.CustomDialer.
func (g *gate) Dial(network, address string) (net.Conn, error) {
	if !g.isOpen.Load() {
		return nil, errGateClosed
	}
	return g.next.Dial(network, address)
}
