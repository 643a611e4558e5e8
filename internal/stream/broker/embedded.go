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

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

const (
	maxMemory    = 64 << 20 // of memory streams: we make none
	maxPayload   = 1 << 20  // an event is at most 1,000,000 bytes, and has headers
	maxClients   = 1024
	maxBatches   = 1000 // atomic batches in flight; abandoned ones count for 10 s
	readyTimeout = 10 * time.Second

	maxSubscriptions = 1024 // of one connection: an engine needs one
)

// embedded is the server that this process runs, and what it holds on disk.
type embedded struct {
	dir      string
	server   *server.Server
	url      string
	lock     *filelock.Lock
	maxStore int64

	own      *nats.Conn    // nil where the Broker's has all rights
	closing  chan struct{} // ends the doorman's watch
	watching sync.WaitGroup
}

// startEmbedded runs the server of dir, whose lock the caller holds, on the
// port that it had last where that is free.
func startEmbedded(ctx context.Context, dir, secret string, opts Options) (*embedded, error) {
	// A process that was killed leaves its address behind: nobody may follow it.
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
	door, err := openDoor(dir, secret, opts)
	if err != nil {
		return nil, err
	}
	sopts := serverOptions(dir, secret, door)
	sopts.Host, sopts.Port, sopts.JetStreamMaxStore = host, port, maxStore
	srv, err := runServer(sopts, door, opts.Logger)
	if err != nil {
		return nil, err
	}
	e := &embedded{dir: dir, server: srv, url: "nats://" + srv.Addr().String(), maxStore: maxStore, closing: make(chan struct{})}
	e.watching.Go(func() { door.watch(e.closing) })
	if err := atomicfile.Write(filepath.Join(dir, "port"), []byte(portOf(srv.Addr()))); err != nil {
		return nil, errors.Join(fmt.Errorf("broker port: %w", err), e.stop())
	}
	return e, nil
}

func serverOptions(dir, secret string, door *doorman) *server.Options {
	o := &server.Options{
		ServerName: serverName(secret),
		NoSigs:     true,
		MaxConn:    maxClients,
		MaxSubs:    maxSubscriptions,
		MaxPayload: maxPayload,

		CustomClientAuthentication: door,
		AlwaysEnableNonce:          true, // for keys to sign

		JetStream:          true,
		JetStreamMaxMemory: maxMemory,
		JetStreamLimits: server.JSLimitOpts{
			MaxBatchInflightPerStream: maxBatches,
			MaxBatchInflightTotal:     maxBatches,
		},
		DisableJetStreamBanner: true,
		StoreDir:               dir,
		SyncAlways:             true,
	}
	if door != nil && !door.closed {
		// Only so that clients are not told that they need credentials: the doorman
		// says who they are.
		o.NoAuthUser, o.Users = loopbackUser, []*server.User{{Username: loopbackUser}}
	}
	return o
}

// runServer starts a server and waits until it takes connections.
func runServer(opts *server.Options, door *doorman, log *slog.Logger) (*server.Server, error) {
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	logger := &serverLogger{log: log.With("part", "nats-server")}
	srv.SetLoggerV2(logger, false, false, false)
	door.server = srv
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

// announce writes the address, when the streams are there.
func (e *embedded) announce() error {
	if err := atomicfile.Write(filepath.Join(e.dir, "url"), []byte(e.url+"\n")); err != nil {
		return fmt.Errorf("announce broker address: %w", err)
	}
	return nil
}

// stop takes the address back, ends the server and lets go of the lock, in this
// order: who finds the lock free finds the store closed.
func (e *embedded) stop() error {
	err := os.RemoveAll(filepath.Join(e.dir, "url"))
	close(e.closing)
	e.watching.Wait()
	if e.own != nil {
		e.own.Close()
	}
	e.server.Shutdown()
	e.server.WaitForShutdown()
	if e.lock != nil {
		err = errors.Join(err, e.lock.Unlock())
	}
	return err
}

// lastPort returns the port that the server of dir had last, or one that the
// system chooses when that is taken.
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
