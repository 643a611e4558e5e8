package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// More events are published than the stream can store. After the stream is enlarged, each has
// arrived once.
//
//guarantee:broker-full
func TestFullStream(t *testing.T) {
	const count = 5_000
	server := natstest.Listen(t, filepath.Join(t.TempDir(), "server"), natstest.Options{MaxBytes: 2 << 20})
	dir := t.TempDir()
	p := openOutbox(t, server, dir)
	appendAll(t, p, count)
	waitUntil(t, "the stream is full", func() bool { return p.Stats().LastError != nil })

	js := server.JetStream(t)
	stream, err := js.Stream(t.Context(), server.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = 64 << 20
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	finish(t, server, p, dir, count)
}

// Ten thousand events that are appended while the server is stopped arrive once and in order after
// its restart.
//
//guarantee:broker-down
func TestServerStopped(t *testing.T) {
	t.Parallel()
	const count = 10_000
	server := natstest.Listen(t, filepath.Join(t.TempDir(), "server"))
	dir := t.TempDir()
	p := openOutbox(t, server, dir)
	server.Stop()
	appendAll(t, p, count)
	if got := p.Stats(); got.Pending != count || got.Acked != 0 {
		t.Errorf("with the server stopped: got %d events pending and %d acknowledged, want %d and 0", got.Pending, got.Acked, count)
	}
	server.Restart(t)
	finish(t, server, p, dir, count)
}

func openOutbox(t *testing.T, server *natstest.Server, dir string) *publish.Publisher {
	t.Helper()
	p, err := publish.Open(t.Context(), server.Connect(t), publish.Options{
		Dir: filepath.Join(dir, "outbox", "e2e"), Name: "e2e", Tenant: "default", Redactor: publish.NoRedaction,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close outbox: %v", err)
		}
	})
	return p
}

func appendAll(t *testing.T, p *publish.Publisher, count int) {
	t.Helper()
	for e, err := range ingest.CloudEvents(t.Context(), bytes.NewReader(customEvents(count)), ingest.Options{Tenant: "default"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// finish waits until all events are in the stream, runs the auditor, and requires a complete ledger
// of count events in order.
func finish(t *testing.T, server *natstest.Server, p *publish.Publisher, dir string, count int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(ctx, broker.Options{URL: server.URL(), Name: "e2e"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(ctx); err != nil {
			t.Errorf("close broker: %v", err)
		}
	}()
	known := os.Getenv(cli.EnvName("known-ledgers"))
	if err := auditor.Run(ctx, auditor.Options{Broker: b, DataDir: dir, Drain: true, KnownLedgers: known}); err != nil {
		t.Fatal(err)
	}
	run(t, 0, "auditor", "verify", "--data-dir", dir)
	if got := len(held(t, dir)); got != count {
		t.Errorf("events in the ledger: got %d, want %d", got, count)
	}
}
