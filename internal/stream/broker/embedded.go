package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

const (
	maxMemory    = 64 << 20 // for streams in memory, which Hooktrail does not use
	maxPayload   = 1 << 20  // an event of 1,000,000 bytes with its headers
	maxClients   = 1024
	maxQueued    = 10_000 // messages that wait for a stream; the server drops further ones
	maxBatches   = 1000   // unfinished atomic batches; the server drops them after 10 s
	readyTimeout = 10 * time.Second

	maxSubscriptions = 1024 // per connection
)

type embedded struct {
	dir      string
	secret   string
	server   *server.Server
	url      string
	lock     *filelock.Lock
	maxStore int64
	owner    *nats.Conn // manages the streams; nil if the main connection has all rights
	lookups  *nats.Conn
	closing  chan struct{}
	watching sync.WaitGroup
}

func startLocked(ctx context.Context, dir string, lock *filelock.Lock, opts Options) (*embedded, error) {
	e, err := startEmbedded(ctx, dir, opts)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	e.lock = lock
	return e, nil
}

func startEmbedded(ctx context.Context, dir string, opts Options) (*embedded, error) {
	secret, err := loadSecret(dir)
	if err != nil {
		return nil, err
	}
	// A process that was killed leaves its address in this file.
	if err := os.RemoveAll(filepath.Join(dir, "url")); err != nil {
		return nil, fmt.Errorf("stale broker address: %w", err)
	}
	host, port, err := loopback(opts.Listen)
	if err != nil {
		return nil, err
	}
	maxStore, err := storeLimit(dir, opts.MaxStore)
	if err != nil {
		return nil, err
	}
	if port == 0 {
		port = lastPort(ctx, dir, host)
	}
	auth, err := newAuthenticator(dir, secret, opts)
	if err != nil {
		return nil, err
	}
	sopts := serverOptions(dir, secret, auth)
	sopts.Host, sopts.Port, sopts.JetStreamMaxStore = host, port, maxStore
	srv, err := runServer(sopts, auth, opts.Logger)
	if err != nil {
		return nil, err
	}
	e := &embedded{dir: dir, secret: secret, server: srv, url: "nats://" + srv.Addr().String(), maxStore: maxStore, closing: make(chan struct{})}
	e.watching.Go(func() { auth.watch(e.closing) })
	if e.lookups, err = guardLookups(srv, secret, opts.Space, opts.Logger); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	if err := atomicfile.Write(filepath.Join(dir, "port"), []byte(portOf(srv.Addr()))); err != nil {
		return nil, errors.Join(fmt.Errorf("broker port: %w", err), e.stop())
	}
	return e, nil
}

func serverOptions(dir, secret string, auth *authenticator) *server.Options {
	o := &server.Options{
		ServerName: serverName(secret),
		NoSigs:     true,
		MaxConn:    maxClients,
		MaxSubs:    maxSubscriptions,
		MaxPayload: maxPayload,

		CustomClientAuthentication: auth,
		AlwaysEnableNonce:          true, // clients sign it with their key

		JetStream:          true,
		JetStreamMaxMemory: maxMemory,
		JetStreamLimits: server.JSLimitOpts{
			MaxBatchInflightPerStream: maxBatches,
			MaxBatchInflightTotal:     maxBatches,
		},
		StreamMaxBufferedMsgs:  maxQueued,
		DisableJetStreamBanner: true,
		StoreDir:               dir,
		SyncAlways:             true,
	}
	if auth != nil && !auth.required {
		// NoAuthUser only keeps the server from asking for credentials. The authenticator still
		// checks each client.
		o.NoAuthUser, o.Users = loopbackUser, []*server.User{{Username: loopbackUser}}
	}
	return o
}

func runServer(opts *server.Options, auth *authenticator, log *slog.Logger) (*server.Server, error) {
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	logger := &serverLogger{log: log.With("part", "nats-server")}
	srv.SetLoggerV2(logger, false, false, false)
	auth.server = srv
	srv.Start()
	err = logger.fatal()
	if err == nil && !srv.ReadyForConnections(readyTimeout) {
		err = fmt.Errorf("not ready after %v", readyTimeout)
	}
	if err == nil && !srv.JetStreamEnabled() {
		err = errors.New("JetStream did not start")
	}
	if err != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	return srv, nil
}

// announce must be called after the streams exist, because other processes connect as soon as they
// find the address.
func (e *embedded) announce() error {
	if err := atomicfile.Write(filepath.Join(e.dir, "url"), []byte(e.url+"\n")); err != nil {
		return fmt.Errorf("announce broker address: %w", err)
	}
	return nil
}

func (e *embedded) connectOwner(name string) (jetstream.JetStream, error) {
	options := append(ownerOptions(e.secret), nats.InProcessServer(e.server), nats.Name(name+" (server)"), nats.MaxReconnects(-1))
	nc, err := nats.Connect(e.url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", e.url, err)
	}
	e.owner = nc
	return jetstream.New(nc)
}

// stop releases the lock last, so that the next process does not open files that this server still
// uses.
func (e *embedded) stop() error {
	err := os.RemoveAll(filepath.Join(e.dir, "url"))
	close(e.closing)
	e.watching.Wait()
	for _, nc := range []*nats.Conn{e.owner, e.lookups} {
		if nc != nil {
			nc.Close()
		}
	}
	e.server.Shutdown()
	e.server.WaitForShutdown()
	if e.lock != nil {
		err = errors.Join(err, e.lock.Unlock())
	}
	return err
}

func lastPort(ctx context.Context, dir, host string) int {
	data, err := os.ReadFile(filepath.Join(dir, "port"))
	if err != nil {
		return server.RANDOM_PORT
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || port < 1 || port > 65535 {
		return server.RANDOM_PORT
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil || l.Close() != nil {
		return server.RANDOM_PORT
	}
	return port
}

func portOf(a net.Addr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}
