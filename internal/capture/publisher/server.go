package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/intake"
)

// Limits of an HTTP/2 connection.
const (
	maxStreams       = 32
	maxStreamBuffers = 256 << 10 // in bytes
)

// Listen listens on a TCP address. If the address is in use, the error names the flag to change it.
// For [NoAddress], the listener never accepts a connection.
func Listen(ctx context.Context, address, flag string) (net.Listener, error) {
	if address == NoAddress {
		return &noListener{closed: make(chan struct{})}, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: in use by another process; %s takes another address", address, flag)
	case err != nil:
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// Server returns an HTTP server, which uses TLS if there is a certificate. The timeouts are short,
// but [Handler] extends them for large requests. Requests continue when ctx ends.
func (a Access) Server(ctx context.Context, handler http.Handler, logger *slog.Logger) (*http.Server, error) {
	config, err := a.TLS.Config(logger) //nolint:contextcheck // each connection has a context
	server := &http.Server{
		TLSConfig:         config,
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       chunkTimeout,
		WriteTimeout:      replyTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext:       func(ctx context.Context, conn net.Conn) context.Context { return a.withPeer(ctx, conn, logger) },
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxStreamBuffers},
	}
	intake.NewConns(0).Register(server, UserOf)
	return server, err
}

// ServeOn accepts connections for a server from [Access.Server]. It uses TLS if a.TLS.Cert is set.
// It ignores server.TLSConfig, because net/http also sets it for servers without TLS.
func (a Access) ServeOn(server *http.Server, l net.Listener) error {
	if a.TLS.Cert != "" {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(l)
}
