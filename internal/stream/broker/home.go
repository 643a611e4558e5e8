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
)

// home is the external broker that a data directory belongs to. DataDir/broker.json contains it.
type home struct {
	URL    string    `json:"url"`              // without credentials
	Stream time.Time `json:"stream,omitzero"` // when its event stream was created, if that is known
}

func homePath(dataDir string) string { return filepath.Join(dataDir, "broker.json") }

// loadHome returns the zero home if the data directory belongs to no external broker.
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

// CheckHome fails if opts name no broker and the data directory belongs to an external one. An
// embedded server would then start with an empty stream, and the events and numbers in the data
// directory would continue there. [Open] calls CheckHome. A command calls it before it writes
// anything that a broker must receive.
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

// checkServer rejects another server with another event stream than the one of the data directory.
// The same server may have a new stream, which the ledgers report. Another address may be that of
// the same stream, for example after a move or in a cluster.
func (b *Broker) checkServer(ctx context.Context) error {
	if b.opts.URL == "" || b.opts.DataDir == "" {
		return nil
	}
	h, err := loadHome(b.opts.DataDir)
	if err != nil || h.Stream.IsZero() || h.URL == redactURL(b.opts.URL) {
		return err
	}
	created, err := b.streamCreated(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	if created.Equal(h.Stream) {
		return nil
	}
	return fmt.Errorf("data directory %s belongs to the NATS server %s, and %s has another event stream: use the first one with --nats-url; "+
		"to move to the second one without the stream, remove %s", b.opts.DataDir, h.URL, redactURL(b.opts.URL), homePath(b.opts.DataDir))
}

func (b *Broker) streamCreated(ctx context.Context) (created time.Time, err error) {
	err = b.health.unlessRefused(ctx, func(ctx context.Context) error {
		stream, err := b.conn.streams.Stream(ctx, b.opts.Space.EventStream())
		if err == nil {
			created = stream.CachedInfo().Created
		}
		return err
	})
	return created, err
}

// remember makes the data directory belong to the external broker of opts. It ignores a connection
// to the embedded server of the same data directory.
func (b *Broker) remember(ctx context.Context) error {
	if b.opts.URL == "" || b.opts.DataDir == "" || b.isOwnServer() {
		return nil
	}
	created, err := b.streamCreated(ctx)
	if err != nil {
		return err
	}
	return b.writeHome(home{URL: redactURL(b.opts.URL), Stream: created.UTC()})
}

func (b *Broker) isOwnServer() bool {
	name, err := os.ReadFile(filepath.Join(b.opts.DataDir, "nats", "name"))
	return err == nil && strings.TrimSpace(string(name)) == b.conn.nc.ConnectedServerName()
}

// rememberAbsent is remember for a broker that is unavailable. A publisher accepts events for it
// already. A data directory that belongs to another broker, or has an embedded server, waits for
// the connection instead, because the address may be wrong.
func (b *Broker) rememberAbsent() error {
	if b.opts.DataDir == "" {
		return nil
	}
	h, err := loadHome(b.opts.DataDir)
	if err != nil || h.URL != "" {
		return err
	}
	if _, err := os.Stat(filepath.Join(b.opts.DataDir, "nats", "jetstream")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.writeHome(home{URL: redactURL(b.opts.URL)})
}

func (b *Broker) writeHome(h home) error {
	if old, err := loadHome(b.opts.DataDir); err == nil && old == h {
		return nil
	}
	data, err := json.Marshal(h)
	if err == nil {
		err = os.MkdirAll(b.opts.DataDir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(homePath(b.opts.DataDir), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("remember the broker of the data directory: %w", err)
	}
	return nil
}
