package broker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const mib = 1 << 20

// open opens a broker until the end of the test.
func open(t *testing.T, opts broker.Options) *broker.Broker {
	t.Helper()
	if opts.StreamMaxBytes == 0 {
		opts.StreamMaxBytes = 64 * mib
	}
	b, err := broker.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeBroker(t, b) })
	return b
}

func closeBroker(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

func chain(t *testing.T) string {
	t.Helper()
	s, err := subjects.Space{}.Chain("acme", "p1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	first := open(t, broker.Options{DataDir: dir})
	second := open(t, broker.Options{DataDir: dir, Name: "second"})
	if !first.Embedded() || second.Embedded() {
		t.Fatalf("embedded: got %v and %v, want the first alone", first.Embedded(), second.Embedded())
	}
	if _, err := second.JetStream().Publish(t.Context(), chain(t), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	msg, err := first.JetStream().Stream(t.Context(), first.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if got := msg.CachedInfo().State.Msgs; got != 1 {
		t.Errorf("got %d messages, want 1", got)
	}
	for _, name := range []string{"url", "secret", "lock", "port"} {
		info, err := os.Stat(filepath.Join(dir, "nats", name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v, want 0600", name, info.Mode().Perm())
		}
	}
	if len(first.Drift())+len(second.Drift()) > 0 {
		t.Errorf("drift: %q, %q", first.Drift(), second.Drift())
	}
}

func TestOpen_RefusesOtherAddresses(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":4222", "[::]:0", "192.0.2.1:4222", "example.org:1", "127.0.0.1"} {
		_, err := broker.Open(t.Context(), broker.Options{DataDir: t.TempDir(), Listen: listen})
		if err == nil || !strings.Contains(err.Error(), "listen address") {
			t.Errorf("%s: got %v, want a refusal", listen, err)
		}
	}
}

func TestOpen_StrangersMayOnlyPublish(t *testing.T) {
	b := open(t, broker.Options{DataDir: t.TempDir()})
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), chain(t), []byte("{}")); err != nil {
		t.Errorf("publish: %v", err)
	}
	direct := "$JS.API.DIRECT.GET." + b.Space().EventStream() + "." + chain(t)
	if msg, err := nc.Request(direct, nil, time.Second); err != nil || string(msg.Data) != "{}" {
		t.Errorf("direct get of the chain: %v", err)
	}
	if _, err := nc.Request("$JS.API.STREAM.INFO."+b.Space().EventStream(), nil, 200*time.Millisecond); err == nil {
		t.Error("stream info was answered")
	}
	if _, err := nc.SubscribeSync(subjects.Space{}.AllEvents()); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("subscribe: got %v, want a permission violation", err)
	}
}
