package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/filelock"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const (
	serviceUser  = "hooktrail"
	loopbackUser = "loopback"
	joinEvery    = 20 * time.Millisecond
	dialTimeout  = 2 * time.Second
)

// connectEmbedded runs the server of the data directory, or joins whoever does.
// It goes round until one of both works: the holder of the lock may not have
// written its address yet, or may end just now.
func (b *Broker) connectEmbedded(ctx context.Context) error {
	dir := filepath.Join(b.opts.DataDir, "nats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("broker folder: %w", err)
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
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("join the broker that another process runs in %s: %w", dir, err)
		case <-time.After(joinEvery):
		}
	}
}

func (b *Broker) runEmbedded(ctx context.Context, dir string, lock *filelock.Lock) error {
	secret, err := loadSecret(dir)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	b.embedded, err = startEmbedded(ctx, dir, secret, b.opts)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	b.embedded.lock = lock
	return b.connectAs(secret, b.embedded.url, nats.InProcessServer(b.embedded.server))
}

func (b *Broker) join(dir string) error {
	d, secret, err := dialerOf(dir)
	if err != nil {
		return err
	}
	address, err := d.address()
	if err != nil {
		return err
	}
	return b.connectAs(secret, "nats://"+address, nats.SetCustomDialer(d))
}

func (b *Broker) connectAs(secret, address string, how nats.Option) error {
	nc, err := nats.Connect(address, append(b.connOptions(), how,
		nats.UserInfo(serviceUser, secret),
		nats.CustomInboxPrefix(subjects.ServiceInbox))...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	b.nc = nc
	b.js, err = jetstream.New(nc)
	return err
}

// loopback splits host:port and refuses every host but the loopback.
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
			"run a nats-server and use --nats-url for others", address)
	}
	return host, port, nil
}

// loadSecret returns the password of our own commands, making it at first. The
// caller holds the lock.
func loadSecret(dir string) (string, error) {
	path := filepath.Join(dir, "secret")
	data, err := os.ReadFile(path)
	if err == nil && len(data) > 0 {
		return string(data), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("broker secret: %w", err)
	}
	secret := rand.Text()
	if err := writeFile(path, secret); err != nil {
		return "", fmt.Errorf("broker secret: %w", err)
	}
	return secret, nil
}

// writeFile puts content at path whole or not at all, for the owner alone.
func writeFile(path, content string) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(content)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
