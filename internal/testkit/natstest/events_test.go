package natstest_test

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// Messages returns messages that were in transit when a connection was lost.
func TestServer_Messages_ConnectionLost(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir())
	js := srv.JetStream(t)
	const count = 40
	for n := range count {
		subject, err := srv.Space().Event("acme", "p1", "r"+strconv.Itoa(n), "run.started")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), subject, bytes.Repeat([]byte{'x'}, 512<<10)); err != nil {
			t.Fatal(err)
		}
	}
	d := &breakingDialer{after: 3 << 20}
	list := srv.Messages(t, nats.SetCustomDialer(d))
	if len(list) != count {
		t.Errorf("read %d of %d messages", len(list), count)
	}
	for i, msg := range list {
		if msg.Sequence != uint64(i+1) {
			t.Fatalf("message %d is #%d", i, msg.Sequence)
		}
	}
	if n := d.dialled.Load(); n != 2 {
		t.Errorf("connected %d times, want 2: the first is lost", n)
	}
}

// breakingDialer opens connections, of which the first breaks after some bytes.
type breakingDialer struct {
	after   int
	dialled atomic.Int32
}

// Dial implements nats.CustomDialer.
func (d *breakingDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	if d.dialled.Add(1) > 1 || err != nil {
		return c, err
	}
	return &breakingConn{Conn: c, left: d.after}, nil
}

type breakingConn struct {
	net.Conn
	left int
}

func (c *breakingConn) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.Join(net.ErrClosed, c.Close())
	}
	n, err := c.Conn.Read(b)
	c.left -= n
	return n, err
}
