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

// lastAnswers is what requests get when the server stops.
const lastAnswers = 5 * time.Second

// Options say what a [Server] serves, and where.
type Options struct {
	Listen   string      // address, such as 127.0.0.1:8555
	Dir      string      // folder of the ledgers
	Tenants  []string    // whose ledgers; none is all
	StandsBy func() bool // while it says so another auditor shows the log, and this one does not
	Logger   *slog.Logger
}

// Server serves logs beside an auditor. One that is nil serves nothing.
type Server struct {
	listener net.Listener
	server   *http.Server
	logger   *slog.Logger
}

// Listen takes the address that o names, until the server is closed or has run.
func Listen(ctx context.Context, o Options) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("serve tiles: %w", err)
	}
	o.Logger.InfoContext(ctx, "tiles are served", "url", "http://"+l.Addr().String()+"/hooktrail/TENANT")
	return &Server{listener: l, logger: o.Logger, server: &http.Server{
		Handler:           inTurn(o.StandsBy, Handler(o.Dir, o.Tenants, o.Logger)),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}}, nil
}

// inTurn serves with h, unless standsBy says that it is another auditor's turn.
func inTurn(standsBy func() bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if standsBy() {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "this auditor stands by for another one, which serves the log", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, req)
	})
}

// Run serves until ctx ends, and returns when the last request has its answer.
func (s *Server) Run(ctx context.Context) {
	if s == nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.logger.ErrorContext(ctx, "tiles are not served any more", "error", err)
		}
	})
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancel()
	if err := s.server.Shutdown(last); err != nil {
		_ = s.server.Close() // who reads too slowly is cut off
	}
	wg.Wait()
}

// Close frees the address of a server that never ran.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
