package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const (
	joinEvery   = 20 * time.Millisecond
	dialTimeout = 2 * time.Second
)

func (b *Broker) connectEmbedded(ctx context.Context) error {
	dir := filepath.Join(b.opts.DataDir, "nats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("broker folder: %w", err)
	}
	if err := checkPrivate(dir, keyDir(dir), tenantDir(dir)); err != nil {
		return err
	}
	for {
		lock, err := filelock.Try(filepath.Join(dir, "lock"))
		if err == nil {
			return b.runEmbedded(ctx, dir, lock)
		}
		if !errors.Is(err, filelock.ErrHeld) {
			return err
		}
		if err = b.join(dir); err == nil {
			b.joined = dir
			return nil
		} else if errors.Is(err, errAuthMode) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("join the broker that another process runs in %s: %w", dir, err)
		case <-time.After(joinEvery):
		}
	}
}

var errLost = errors.New("connection lost")

func (b *Broker) settleJoined(ctx context.Context) error {
	for {
		err := b.conn.whileConnected(ctx, func(ctx context.Context) error { return b.settle(ctx, b.conn) })
		if b.joined == "" || !errors.Is(err, errLost) || ctx.Err() != nil {
			return err
		}
		b.conn.nc.Close()
		b.conn, b.joined = newConnection(b.opts, b.health), ""
		if err := b.connectEmbedded(ctx); err != nil {
			return err
		}
	}
}

func (c *connection) whileConnected(ctx context.Context, do func(context.Context) error) error {
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	status := c.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer c.nc.RemoveStatusListener(status)
	go func() {
		select {
		case <-status:
			cancel(errLost)
		case <-attempt.Done():
		}
	}()
	err := do(attempt)
	lost := errors.Is(context.Cause(attempt), errLost) || errors.Is(err, nats.ErrReconnectBufExceeded) || !c.nc.IsConnected()
	if err != nil && lost {
		err = fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// checkPrivate rejects folders that every user may write to, because another user could add a key
// there.
func checkPrivate(folders ...string) error {
	for _, dir := range folders {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("broker folder: %w", err)
		}
		if info.Mode().Perm()&0o002 != 0 {
			return fmt.Errorf("broker folder: every user may write to %s: remove keys that are not yours, then run chmod 700 on it", dir)
		}
	}
	return nil
}

func (b *Broker) runEmbedded(ctx context.Context, dir string, lock *filelock.Lock) error {
	e, err := startLocked(ctx, dir, lock, b.opts)
	if err != nil {
		return err
	}
	b.embedded.Store(e)
	if b.opts.Role != subjects.Owner {
		if b.conn.streams, err = e.connectOwner(b.opts.Name); err != nil {
			return err
		}
	}
	return b.conn.connectEmbedded(dir, e.url, nats.InProcessServer(e.server))
}

func (b *Broker) join(dir string) error {
	d, err := dialerOf(dir)
	if err != nil {
		return err
	}
	address, err := d.address()
	if err != nil {
		return err
	}
	if err := b.opts.Auth.checkRunning(dir); err != nil {
		return err
	}
	return b.conn.connectEmbedded(dir, "nats://"+address, nats.SetCustomDialer(d))
}

func loopback(address string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("listen address %q: %w", address, err)
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("listen address %q: port %q is not a number from 0 to 65535", address, p)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", 0, fmt.Errorf("listen address %q: the embedded broker listens on 127.0.0.1 only; "+
			"run a nats-server and use --nats-url for other addresses", address)
	}
	return host, port, nil
}
