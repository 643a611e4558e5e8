package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

type home struct {
	URL    string    `json:"url"`             // without credentials
	Stream time.Time `json:"stream,omitzero"` // creation time of its event stream, if known
}

func homePath(dataDir string) string { return filepath.Join(dataDir, "broker.json") }

func loadHome(dataDir string) (home, error) {
	data, err := os.ReadFile(homePath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return home{}, nil
	}
	if err != nil {
		return home{}, fmt.Errorf("broker of the data directory: %w", err)
	}
	h, err := parseHome(data)
	if err != nil {
		return home{}, fmt.Errorf("broker of the data directory: %s: %w; remove the file and name the NATS server with --nats-url",
			homePath(dataDir), err)
	}
	return h, nil
}

func parseHome(data []byte) (h home, err error) {
	if err := json.Unmarshal(data, &h); err != nil {
		return home{}, errors.New("it is not JSON with url and stream") // without text of the file
	}
	if h.URL == "" || h.URL != redactURL(h.URL) {
		return home{}, errors.New("url is empty or has credentials")
	}
	return h, nil
}

// CheckHome returns an error if the data directory belongs to an external broker and no URL is set.
// Otherwise events would go to an empty stream.
func (o Options) CheckHome() error {
	if o.URL != "" {
		return nil
	}
	h, err := loadHome(o.DataDir)
	if err != nil || h.URL == "" {
		return err
	}
	return fmt.Errorf("data directory %s belongs to the NATS server %s: name it with --nats-url or HOOKTRAIL_NATS_URL; "+
		"to leave it and run an embedded server with its own stream, remove %s", o.DataDir, h.URL, homePath(o.DataDir))
}

func (c *connection) checkServer(ctx context.Context) error {
	if c.opts.URL == "" || c.opts.DataDir == "" {
		return nil
	}
	h, err := loadHome(c.opts.DataDir)
	if err != nil || h.Stream.IsZero() || h.URL == redactURL(c.opts.URL) {
		return err
	}
	created, err := c.streamCreated(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return c.compare(h, created)
}

func (c *connection) compare(h home, created time.Time) error {
	if h.Stream.IsZero() || h.URL == redactURL(c.opts.URL) || created.Equal(h.Stream) {
		return nil
	}
	return fmt.Errorf("data directory %s belongs to the NATS server %s, and %s has another event stream: use the first one with --nats-url; "+
		"to move to the second one without the stream, remove %s", c.opts.DataDir, h.URL, redactURL(c.opts.URL), homePath(c.opts.DataDir))
}

func (c *connection) streamCreated(ctx context.Context) (created time.Time, err error) {
	err = c.health.unlessRefused(ctx, func(ctx context.Context) error {
		stream, err := c.streams.Stream(ctx, c.opts.Space.EventStream())
		if err == nil {
			created = stream.CachedInfo().Created
		}
		return err
	})
	return created, err
}

func (c *connection) remember(ctx context.Context) error {
	if c.opts.URL == "" || c.opts.DataDir == "" || c.isOwnServer() {
		return nil
	}
	created, err := c.streamCreated(ctx)
	if err != nil {
		return err
	}
	to := home{URL: redactURL(c.opts.URL), Stream: created.UTC()}
	return c.changeHome(ctx, func(old home) (home, error) { return to, c.compare(old, created) })
}

func (c *connection) isOwnServer() bool {
	name, err := os.ReadFile(filepath.Join(c.opts.DataDir, "nats", "name"))
	return err == nil && strings.TrimSpace(string(name)) == c.nc.ConnectedServerName()
}

func (c *connection) rememberAbsent(ctx context.Context) error {
	if c.opts.DataDir == "" {
		return nil
	}
	_, noServer := os.Stat(filepath.Join(c.opts.DataDir, "nats", "jetstream"))
	url := redactURL(c.opts.URL)
	return c.changeHome(ctx, func(old home) (home, error) {
		switch {
		case old.URL == url:
			return old, nil
		case old.URL != "":
			return old, fmt.Errorf("data directory %s belongs to the NATS server %s: %s is unavailable, and its event stream must be compared first; "+
				"try again when it answers, or use the first one with --nats-url; if the first one was a mistake, remove %s",
				c.opts.DataDir, old.URL, url, homePath(c.opts.DataDir))
		case !errors.Is(noServer, fs.ErrNotExist):
			return old, noServer
		}
		return home{URL: url}, nil
	})
}

func (c *connection) changeHome(ctx context.Context, change func(old home) (home, error)) (err error) {
	dir := c.opts.DataDir
	if to, err := changed(dir, change); err != nil || to == nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("remember the broker of the data directory: %w", err)
	}
	lock, err := filelock.Wait(ctx, filepath.Join(dir, "broker.lock"), func() {})
	if err != nil {
		return fmt.Errorf("remember the broker of the data directory: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	to, err := changed(dir, change)
	if err != nil || to == nil {
		return err
	}
	data, err := json.Marshal(to)
	if err == nil {
		err = atomicfile.Write(homePath(dir), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("remember the broker of the data directory: %w", err)
	}
	return nil
}

func changed(dataDir string, change func(old home) (home, error)) (*home, error) {
	old, err := loadHome(dataDir)
	if err != nil {
		return nil, err
	}
	to, err := change(old)
	if err != nil || to == old {
		return nil, err
	}
	return &to, nil
}
