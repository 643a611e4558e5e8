package atomicbatch

import (
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

type server struct{ nc *nats.Conn }

// Over returns the server to which nc is connected. Close all links and senders of the server
// before nc.
func Over(nc *nats.Conn) transport.Server { return server{nc: nc} }

// Link implements [transport.Server].
func (s server) Link() transport.Link { return newLink(s.nc) }

// Sender implements [transport.Server].
func (s server) Sender(link transport.Link, timeout time.Duration) (transport.Sender, error) {
	return newSender(s.nc, link, timeout)
}
