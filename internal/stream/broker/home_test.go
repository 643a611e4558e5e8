package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func homeFile(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "broker.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

// openRefused checks that Open fails with each text and starts no server in the data directory.
func openRefused(t *testing.T, opts broker.Options, texts ...string) {
	t.Helper()
	b, err := broker.Open(t.Context(), opts)
	if err == nil {
		closeBroker(t, b)
		t.Fatal("the broker was opened")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q in it", err, text)
		}
	}
}

// A data directory that was used with a NATS server starts no server, until its file is removed.
//
//guarantee:server-remembered
func TestHome(t *testing.T) {
	s := natstest.Listen(t, t.TempDir())
	dir := filepath.Join(t.TempDir(), "data")
	closeBroker(t, open(t, broker.Options{DataDir: dir, URL: strings.Replace(s.URL(), "//", "//me:secret@", 1)}))
	if text := homeFile(t, dir); !strings.Contains(text, s.URL()) || strings.Contains(text, "secret") {
		t.Errorf("remembered %s", text)
	}
	openRefused(t, broker.Options{DataDir: dir}, s.URL(), "--nats-url", "HOOKTRAIL_NATS_URL", filepath.Join(dir, "broker.json"))
	if _, err := os.Stat(filepath.Join(dir, "nats")); !os.IsNotExist(err) {
		t.Errorf("folder of an embedded server: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "broker.json")); err != nil {
		t.Fatal(err)
	}
	open(t, broker.Options{DataDir: dir})
}

// The same stream may have another address. Another stream at another address is refused, and gets
// no streams.
func TestHome_OtherServer(t *testing.T) {
	s, dir := natstest.Listen(t, t.TempDir()), t.TempDir()
	closeBroker(t, open(t, broker.Options{DataDir: dir, URL: s.URL()}))
	before := homeFile(t, dir)
	renamed := strings.Replace(s.URL(), "127.0.0.1", "localhost", 1)
	closeBroker(t, open(t, broker.Options{DataDir: dir, URL: renamed}))
	if !strings.Contains(homeFile(t, dir), renamed) {
		t.Errorf("got %s, before %s", homeFile(t, dir), before)
	}
	empty := natstest.Listen(t, t.TempDir(), natstest.Options{NoStreams: true})
	openRefused(t, broker.Options{DataDir: dir, URL: empty.URL()}, renamed, empty.URL(), "another event stream")
	if _, err := empty.JetStream(t).Stream(t.Context(), "HOOKTRAIL_EV"); err == nil {
		t.Error("the other server has a stream now")
	}
	empty.Stop()
	openRefused(t, broker.Options{DataDir: dir, URL: empty.URL(), Later: true}, renamed, "unavailable")
}

// A publisher that starts while the server is away remembers it already, because it accepts events.
func TestHome_Later(t *testing.T) {
	s, dir := natstest.Listen(t, t.TempDir()), t.TempDir()
	s.Stop()
	b := open(t, broker.Options{DataDir: dir, URL: s.URL(), Later: true})
	openRefused(t, broker.Options{DataDir: dir}, s.URL())
	s.Restart(t)
	waitUntil(t, func() bool { return strings.Contains(homeFile(t, dir), `"stream"`) })
	closeBroker(t, b)
}

// A second publisher names another server while both servers are away. The streams cannot be
// compared, so it is refused.
func TestHome_OtherAbsent(t *testing.T) {
	dir := t.TempDir()
	open(t, broker.Options{DataDir: dir, URL: "nats://127.0.0.1:1", Later: true})
	again := open(t, broker.Options{DataDir: dir, URL: "nats://127.0.0.1:1", Later: true})
	if again.Conn().IsConnected() {
		t.Error("connected to nobody")
	}
	openRefused(t, broker.Options{DataDir: dir, URL: "nats://127.0.0.1:2", Later: true}, "nats://127.0.0.1:1", "unavailable", filepath.Join(dir, "broker.json"))
}

// Two publishers of a data directory start while their different servers are away. Only the first
// server that answers gets events, also if both answer at once.
//
//guarantee:server-remembered
func TestHome_TwoAbsentServers(t *testing.T) {
	for _, first := range []string{"One", "Both"} {
		t.Run(first, func(t *testing.T) {
			one, two, dir := natstest.Listen(t, t.TempDir()), natstest.Listen(t, t.TempDir()), t.TempDir()
			one.Stop()
			two.Stop()
			b1 := open(t, broker.Options{DataDir: dir, URL: one.URL(), Later: true})
			if err := os.Remove(filepath.Join(dir, "broker.json")); err != nil { // as if both started at once
				t.Fatal(err)
			}
			b2 := open(t, broker.Options{DataDir: dir, URL: two.URL(), Later: true})
			one.Restart(t)
			if first == "One" {
				waitUntil(t, b1.Conn().IsConnected)
			}
			two.Restart(t)
			warned := func(b *broker.Broker) bool {
				return strings.Contains(strings.Join(b.Warnings(), " "), "another event stream")
			}
			waitUntil(t, func() bool {
				return b1.Conn().IsConnected() && warned(b2) || b2.Conn().IsConnected() && warned(b1)
			})
			if b1.Conn().IsConnected() && b2.Conn().IsConnected() {
				t.Error("both servers can get events")
			}
			if first == "One" && b2.Conn().IsConnected() {
				t.Error("the second server can get events")
			}
		})
	}
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in time")
		}
	}
}

// A data directory with an embedded server does not remember an address that never answered, nor
// the address of its own server. It can move to another server.
func TestHome_Embedded(t *testing.T) {
	dir := t.TempDir()
	own := open(t, broker.Options{DataDir: dir})
	key := broker.Login{NKey: filepath.Join(dir, "nats", "keys", "publisher.nk")}
	if _, err := os.Stat(key.NKey); err != nil {
		t.Fatal(err)
	}
	closeBroker(t, open(t, broker.Options{DataDir: dir, URL: own.URL(), Login: key, Role: subjects.PublisherRole}))
	closeBroker(t, open(t, broker.Options{DataDir: dir, URL: "nats://127.0.0.1:1", Later: true}))
	if text := homeFile(t, dir); text != "" {
		t.Errorf("remembered %s", text)
	}
	closeBroker(t, own)
	closeBroker(t, open(t, broker.Options{DataDir: dir}))
	s := natstest.Listen(t, t.TempDir())
	closeBroker(t, open(t, broker.Options{DataDir: dir, URL: s.URL()}))
	openRefused(t, broker.Options{DataDir: dir}, s.URL())
}

// A damaged file starts no server either, and the error says where it is.
func TestHome_Damaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "broker.json")
	if err := os.WriteFile(path, []byte(`{"url":"nats://me:pass@host"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := broker.Open(t.Context(), broker.Options{DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "pass") {
		t.Errorf("got %v, want an error with the path and without the password", err)
	}
}
