package tiles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const shutdownTimeout = 5 * time.Second

// Options are the settings of a [Server].
type Options struct {
	Listen   string      // such as 127.0.0.1:8555
	Dir      string      // of the ledgers
	Tenants  []string    // empty means all
	StandsBy func() bool // another auditor serves the logs now
	Logger   *slog.Logger
}

// A Server serves logs over HTTP. A nil Server serves nothing.
type Server struct {
	listener net.Listener
	server   *http.Server
	logger   *slog.Logger
}

// Listen listens on o.Listen. The caller must call Close or Run to release the address.
func Listen(ctx context.Context, o Options) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("serve tiles: %w", err)
	}
	o.Logger.InfoContext(ctx, "tile server started", "url", "http://"+l.Addr().String()+"/hooktrail/TENANT")
	return &Server{listener: l, logger: o.Logger, server: &http.Server{
		Handler:           unlessStandby(o.StandsBy, Handler(o.Dir, o.Tenants, o.Logger)),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}}, nil
}

func unlessStandby(standsBy func() bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if standsBy() {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "this auditor stands by for another one, which serves the log", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// Run serves requests until ctx ends. It returns after the last answer.
func (s *Server) Run(ctx context.Context) {
	if s == nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.logger.ErrorContext(ctx, "tile server failed", "error", err)
		}
	})
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := s.server.Shutdown(last); err != nil {
		_ = s.server.Close() // connections that are still open
	}
	wg.Wait()
}

// Close releases the address if Run was not called.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
