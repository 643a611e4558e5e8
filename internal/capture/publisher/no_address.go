package publisher

import (
	"net"
	"sync"
)

// NoAddress is the value of an address flag that turns off TCP. The server then listens only on its
// Unix sockets.
const NoAddress = "none"

type noListener struct {
	closed chan struct{}
	once   sync.Once
}

// Accept blocks until Close.
func (l *noListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (l *noListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (l *noListener) Addr() net.Addr { return noAddr{} }

type noAddr struct{}

// Network implements [net.Addr].
func (noAddr) Network() string { return NoAddress }

// String implements [net.Addr].
func (noAddr) String() string { return NoAddress }
