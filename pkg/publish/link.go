package publish

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

var errConnectionClosed = errors.New("connection to the server was closed")

// link follows the state of a connection.
type link struct {
	nc     *nats.Conn
	status chan nats.Status
	wg     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	up      bool
	dead    bool          // the caller closed it
	lost    chan struct{} // closed when the connection of now is lost
	changed chan struct{} // closed and replaced at every change
}

func newLink(nc *nats.Conn) *link {
	l := &link{nc: nc, lost: make(chan struct{}), changed: make(chan struct{})}
	l.status = nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	l.up, l.dead = nc.IsConnected(), nc.IsClosed()
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
	l.dead = l.dead || s == nats.CLOSED
	l.up = s == nats.CONNECTED
	if !l.up {
		close(l.lost)
		l.lost = make(chan struct{})
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// down returns a channel that is closed when the present connection is lost.
func (l *link) down() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// wait returns when the connection is there.
func (l *link) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		up, dead, changed := l.up, l.dead, l.changed
		l.mu.Unlock()
		switch {
		case dead:
			return errConnectionClosed
		case up:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (l *link) close() {
	l.nc.RemoveStatusListener(l.status)
	l.wg.Wait()
}
