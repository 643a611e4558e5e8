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

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
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
	if err := private(dir, keyDir(dir), tenantDir(dir)); err != nil {
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
		} else if errors.Is(err, errDoor) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("join the broker that another process runs in %s: %w", dir, err)
		case <-time.After(joinEvery):
		}
	}
}

// private refuses folders that everybody may write to: who puts a key there is
// let in, and who makes the folder before us knows the secret.
func private(folders ...string) error {
	for _, dir := range folders {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("broker folder: %w", err)
		}
		if info.Mode().Perm()&0o002 != 0 {
			return fmt.Errorf("broker folder: everybody may write to %s: look for keys there that are not yours, then chmod 700 it", dir)
		}
	}
	return nil
}

// runEmbedded runs the server. Its own connection makes and watches the streams;
// a role gets another one, with no more rights than it has elsewhere.
func (b *Broker) runEmbedded(ctx context.Context, dir string, lock *filelock.Lock) error {
	e, secret, err := b.host(ctx, dir, lock)
	if err != nil {
		return err
	}
	b.embedded.Store(e)
	how := nats.InProcessServer(e.server)
	if b.opts.Role == subjects.Owner {
		if err := b.connectWith(e.url, append(ownerLogin(secret), how)...); err != nil {
			return err
		}
		b.streams = b.js
		return nil
	}
	if b.streams, err = b.own(e, secret); err != nil {
		return err
	}
	return b.connectAs(dir, e.url, how)
}

// host starts the server of dir, and gives it the lock.
func (b *Broker) host(ctx context.Context, dir string, lock *filelock.Lock) (*embedded, string, error) {
	secret, err := loadSecret(dir)
	if err != nil {
		return nil, "", errors.Join(err, lock.Unlock())
	}
	e, err := startEmbedded(ctx, dir, secret, b.opts)
	if err != nil {
		return nil, "", errors.Join(err, lock.Unlock())
	}
	e.lock = lock
	return e, secret, nil
}

// own gives the server a connection of its own, which may do everything.
func (b *Broker) own(e *embedded, secret string) (jetstream.JetStream, error) {
	options := append(ownerLogin(secret), nats.InProcessServer(e.server), nats.Name(b.opts.Name+" (server)"), nats.MaxReconnects(-1))
	nc, err := nats.Connect(e.url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", e.url, err)
	}
	e.own = nc
	return jetstream.New(nc)
}

// join connects to the server that another process runs.
func (b *Broker) join(dir string) error {
	d, err := dialerOf(dir)
	if err != nil {
		return err
	}
	address, err := d.address()
	if err != nil {
		return err
	}
	if err := b.sameDoor(dir); err != nil {
		return err
	}
	return b.connectAs(dir, "nats://"+address, nats.SetCustomDialer(d))
}

// connectAs connects to the embedded server of dir with the rights of the role.
func (b *Broker) connectAs(dir, address string, how nats.Option) error {
	if b.opts.Role == subjects.Owner {
		secret, err := os.ReadFile(filepath.Join(dir, "secret"))
		if err != nil {
			return fmt.Errorf("broker secret: %w", err)
		}
		err = b.connectWith(address, append(ownerLogin(string(secret)), how)...)
		b.streams = b.js
		return err
	}
	options, err := withKey([]nats.Option{how}, dir, b.opts)
	if err != nil {
		return err
	}
	err = b.connectWith(address, options...)
	if b.streams == nil {
		b.streams = b.js
	}
	return err
}

// ownerLogin is what a connection needs that may do everything at the server with
// this secret.
func ownerLogin(secret string) []nats.Option {
	return []nats.Option{nats.UserInfo(serviceUser, secret), nats.CustomInboxPrefix(subjects.ServiceInbox + ".owner")}
}

func (b *Broker) connectWith(address string, options ...nats.Option) error {
	nc, err := nats.Connect(address, append(b.connOptions(), options...)...)
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
	if err := atomicfile.Write(path, []byte(secret)); err != nil {
		return "", fmt.Errorf("broker secret: %w", err)
	}
	return secret, nil
}
