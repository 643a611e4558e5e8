// Package natstest runs real NATS servers in tests. In-process servers work in testing/synctest
// with its fake clock. Servers on the loopback can be stopped and restarted.
//
// The first store of a process starts a ticker of the server. Inside a synctest bubble it would
// stop the clock of the next bubble, so this package starts it with the test binary.
package natstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func init() { ats.Register() }

const readyTimeout = 10 * time.Second

// Options configures the server of a test. By default, it has the default space and streams.
type Options struct {
	Space       subjects.Space
	MaxBytes    int64 // of the event stream, 64 MiB by default
	AllowTamper bool  // streams allow deletions and purges
	NoStreams   bool  // the test creates its own streams
	NoSync      bool  // the server does not sync each write
	MaxQueued   int   // messages that wait for a stream; 0 means the default of the server
	Users       []User
}

// User is a client with limited rights. Its password is its name. Without a name, it has all
// rights.
type User struct {
	Name      string
	Publish   []string // allowed subjects
	Subscribe []string
	Responses bool // may answer requests
}

// Server is a running NATS server with JetStream.
type Server struct {
	opts   Options
	dir    string
	listen bool
	port   int

	mu     sync.Mutex // guards server, which connections use during a restart
	server *server.Server
}

// Start runs an in-process server until the test ends. Call it inside a synctest bubble, if there
// is one.
func Start(tb testing.TB, opts ...Options) *Server {
	tb.Helper()
	return start(tb, &Server{opts: first(opts), dir: tb.TempDir()})
}

// Listen runs a server on a loopback port until the test ends. [Server.Stop] and [Server.Restart]
// keep the port and the store in dir.
func Listen(tb testing.TB, dir string, opts ...Options) *Server {
	tb.Helper()
	return start(tb, &Server{opts: first(opts), dir: dir, listen: true, port: server.RANDOM_PORT})
}

func first(opts []Options) Options {
	var o Options
	if len(opts) > 0 {
		o = opts[0]
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	return o
}

func start(tb testing.TB, s *Server) *Server {
	tb.Helper()
	s.Restart(tb)
	tb.Cleanup(func() { s.Stop() })
	if !s.opts.NoStreams {
		s.EnsureStreams(tb)
	}
	return s
}

// EnsureStreams creates missing streams.
func (s *Server) EnsureStreams(tb testing.TB) {
	tb.Helper()
	nc := s.Connect(tb)
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatalf("JetStream: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	drift, err := broker.EnsureStreams(ctx, js, s.opts.Space,
		broker.StreamOptions{MaxBytes: s.opts.MaxBytes, AllowTamper: s.opts.AllowTamper})
	if err != nil || len(drift) > 0 {
		tb.Fatalf("ensure streams: drift %q, error %v", drift, err)
	}
}

// Restart starts a stopped server with the same store and port.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	opts := &server.Options{
		ServerName: "natstest",
		Host:       "127.0.0.1",
		Port:       s.port,
		DontListen: !s.listen,
		NoSigs:     true,
		NoLog:      true,
		JetStream:  true,
		StoreDir:   s.dir,
		SyncAlways: !s.opts.NoSync,
		JetStreamLimits: server.JSLimitOpts{
			MaxBatchInflightPerStream: 1000,
			MaxBatchInflightTotal:     1000,
		},
		StreamMaxBufferedMsgs:  s.opts.MaxQueued,
		DisableJetStreamBanner: true,
	}
	setUsers(opts, s.opts.Users)
	srv, err := server.NewServer(opts)
	if err != nil {
		tb.Fatalf("server: %v", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(readyTimeout) {
		srv.Shutdown()
		srv.WaitForShutdown()
		tb.Fatalf("server: not ready after %v", readyTimeout)
	}
	s.mu.Lock()
	s.server = srv
	s.mu.Unlock()
	if s.listen {
		addr, ok := srv.Addr().(*net.TCPAddr)
		if !ok {
			tb.Fatalf("server listens on %v", srv.Addr())
		}
		s.port = addr.Port
	}
}

func setUsers(opts *server.Options, users []User) {
	if len(users) == 0 {
		return
	}
	opts.NoAuthUser = "anybody"
	opts.Users = []*server.User{{Username: opts.NoAuthUser, Password: opts.NoAuthUser}}
	for _, u := range users {
		p := &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: u.Publish},
			Subscribe: &server.SubjectPermission{Allow: u.Subscribe},
		}
		if u.Responses {
			p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
		}
		opts.Users = append(opts.Users, &server.User{Username: u.Name, Password: u.Name, Permissions: p})
	}
}

// Stop stops a running server and waits until its store is closed.
func (s *Server) Stop() {
	s.mu.Lock()
	srv := s.server
	s.server = nil
	s.mu.Unlock()
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		// A goroutine of the store may sleep longer, and a synctest bubble must not end before.
		time.Sleep(2 * time.Millisecond)
	}
}

// InProcessConn implements nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil, errors.New("server is stopped")
	}
	return s.server.InProcessConn()
}

// URL returns the address of a listening server.
func (s *Server) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.port) }

// Dir returns the folder of the store.
func (s *Server) Dir() string { return filepath.Join(s.dir, "jetstream") }

// Space returns the space of the streams.
func (s *Server) Space() subjects.Space { return s.opts.Space }

// Connect returns a connection that reconnects without limit until the end of the test.
func (s *Server) Connect(tb testing.TB, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	closed := make(chan struct{})
	all := []nats.Option{
		nats.MaxReconnects(-1),
		nats.ReconnectWait(10 * time.Millisecond),
		nats.ReconnectJitter(0, 0),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
	}
	if !s.listen {
		all = append(all, nats.InProcessServer(s))
	}
	nc, err := nats.Connect(s.URL(), append(all, opts...)...)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() {
		nc.Close()
		<-closed
	})
	return nc
}

// JetStream returns the JetStream context of a new connection.
func (s *Server) JetStream(tb testing.TB, opts ...nats.Option) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(s.Connect(tb, opts...))
	if err != nil {
		tb.Fatalf("JetStream: %v", err)
	}
	return js
}
