package atomicbatch

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

// ErrConnectionClosed means that the owner of the connection has closed it.
var ErrConnectionClosed = errors.New("connection to the server was closed")

// Link tracks the state of a connection.
type Link struct {
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

// NewLink tracks nc until Close.
func NewLink(nc *nats.Conn) *Link {
	l := &Link{nc: nc, lost: make(chan struct{}), changed: make(chan struct{})}
	l.status = nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	l.isUp, l.isClosed = nc.IsConnected(), nc.IsClosed()
	l.wg.Go(func() {
		for s := range l.status {
			l.set(s)
		}
	})
	return l
}

func (l *Link) set(s nats.Status) {
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

// Lost returns a channel that is closed when the current connection is lost.
func (l *Link) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// IsUp reports whether the connection is up.
func (l *Link) IsUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isUp
}

// Wait waits for a connection. It returns [ErrConnectionClosed] if the owner has closed the
// connection.
func (l *Link) Wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		isUp, isClosed, changed := l.isUp, l.isClosed, l.changed
		l.mu.Unlock()
		switch {
		case isClosed:
			return ErrConnectionClosed
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

// Close ends the tracking. It does not close the connection.
func (l *Link) Close() {
	l.nc.RemoveStatusListener(l.status)
	l.wg.Wait()
}
