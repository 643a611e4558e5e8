package atomicbatch

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// link implements [transport.Link].
type link struct {
	nc     *nats.Conn
	status chan nats.Status
	wg     sync.WaitGroup

	// mu guards all fields below.
	mu       sync.Mutex
	isUp     bool
	isClosed bool          // by its owner
	lost     chan struct{} // closed and replaced when the connection is lost
	changed  chan struct{} // closed and replaced at every change
}

func newLink(nc *nats.Conn) *link {
	l := &link{nc: nc, lost: make(chan struct{}), changed: make(chan struct{})}
	l.status = nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	l.isUp, l.isClosed = nc.IsConnected(), nc.IsClosed()
	l.wg.Go(func() {
		for s := range l.status {
			l.set(s)
		}
	})
	return l
}

func (l *link) set(s nats.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isClosed = l.isClosed || s == nats.CLOSED
	l.isUp = s == nats.CONNECTED
	if !l.isUp {
		close(l.lost)
		l.lost = make(chan struct{})
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// Lost implements [transport.Link].
func (l *link) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// IsUp implements [transport.Link].
func (l *link) IsUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isUp
}

// Wait implements [transport.Link].
func (l *link) Wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		isUp, isClosed, changed := l.isUp, l.isClosed, l.changed
		l.mu.Unlock()
		switch {
		case isClosed:
			return transport.ErrConnectionClosed
		case isUp:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// Close implements [transport.Link].
func (l *link) Close() {
	l.nc.RemoveStatusListener(l.status)
	l.wg.Wait()
}
