package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

//guarantee:server-power
func TestEmbedded_Settings(t *testing.T) {
	b, err := Open(t.Context(), Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	config := b.embedded.Load().server.JetStreamConfig()
	if !config.SyncAlways {
		t.Error("writes are not synced before they are acknowledged")
	}
	free, err := diskFree(b.embedded.Load().dir)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, name := range []string{"HOOKTRAIL_EV", "HOOKTRAIL_DLQ", "HOOKTRAIL_ADV", "KV_HOOKTRAIL_CHECKPOINTS"} {
		stream, err := b.conn.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		sum += stream.CachedInfo().Config.MaxBytes
	}
	if sum >= config.MaxStore || config.MaxStore >= free {
		t.Errorf("got %d in streams, %d in the store, %d free: want them to rise", sum, config.MaxStore, free)
	}
	if host := b.embedded.Load().server.Addr().String(); !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("listens on %s", host)
	}
}

// The process that opens a server which ends at this moment joins the next server, or starts it. It
// does not wait for an answer that is lost.
func TestOpen_ServerEndsMeanwhile(t *testing.T) {
	opts := Options{DataDir: t.TempDir(), StreamMaxBytes: 64 << 20}.withDefaults()
	first, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	h := newHealth(opts)
	second := &Broker{opts: opts, health: h, conn: newConnection(opts, h)}
	if err := second.connectEmbedded(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = second.conn.whileConnected(t.Context(), func(ctx context.Context) error {
		if err := first.Close(t.Context()); err != nil {
			t.Error(err)
		}
		<-ctx.Done() // a request that waits for its answer
		return ctx.Err()
	})
	if !errors.Is(err, errLost) {
		t.Errorf("got %v, want %v", err, errLost)
	}
	if err := second.settleJoined(t.Context()); err != nil {
		t.Error(err)
	}
	if second.embedded.Load() == nil {
		t.Error("the second process does not run the server")
	}
	if err := second.abandon(); err != nil {
		t.Error(err)
	}
}

func TestOpen_DiskTooSmall(t *testing.T) {
	for _, opts := range []Options{{MaxStore: 1 << 60}, {StreamMaxBytes: 1 << 60}, {MaxStore: 200 << 20, StreamMaxBytes: 200 << 20}} {
		opts.DataDir = t.TempDir()
		for range 2 { // the first attempt left no lock
			_, err := Open(t.Context(), opts)
			if !errors.Is(err, ErrDiskSmall) || !strings.Contains(err.Error(), "--data-dir") {
				t.Errorf("%+v: got %v, want %v with a fix", opts, err, ErrDiskSmall)
			}
		}
	}
}

func TestOpen_DiskBecameTooSmall(t *testing.T) {
	dir := t.TempDir()
	for _, opts := range []Options{{StreamMaxBytes: 1 << 30}, {MaxStore: 200 << 20}} {
		opts.DataDir = dir
		b, err := Open(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.conn.js.Publish(t.Context(), "hooktrail.chain.acme.p1", nil); err != nil {
			t.Errorf("publish: %v", err)
		}
		b.check(t.Context())
		if warned := len(b.Warnings()) > 0; warned != (opts.MaxStore > 0) || len(b.Drift()) > 0 {
			t.Errorf("got warnings %q, drift %q", b.Warnings(), b.Drift())
		}
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDiskWarning(t *testing.T) {
	dir := t.TempDir()
	if w := diskWarning(dir, 0); w != "" {
		t.Errorf("nothing to come: got %q", w)
	}
	if w := diskWarning(dir, 1<<60); !strings.Contains(w, "free some space") {
		t.Errorf("more to come than fits: got %q", w)
	}
	if w := diskWarning(dir+"/gone", 0); w == "" {
		t.Error("no folder: got nothing")
	}
}

func TestSubjectWarning(t *testing.T) {
	info := &jetstream.StreamInfo{State: jetstream.StreamState{NumSubjects: manySubjects}}
	if w := subjectWarning(info); w != "" {
		t.Errorf("at the limit: got %q", w)
	}
	info.State.NumSubjects++
	if w := subjectWarning(info); !strings.Contains(w, "500001 live subjects") {
		t.Errorf("above it: got %q", w)
	}
}

func TestReconnectDelay(t *testing.T) {
	for attempts := range 100 {
		if d := reconnectDelay(attempts); d < reconnectFirst/2 || d > reconnectMost {
			t.Errorf("attempt %d: got %v", attempts, d)
		}
	}
	if d := reconnectDelay(0); d > 100*time.Millisecond {
		t.Errorf("first: got %v", d)
	}
}

func TestRedactURL(t *testing.T) {
	for url, want := range map[string]string{
		"nats://a:4222":                   "nats://a:4222",
		"nats://u:p@a:4222,tls://t@b:1":   "nats://a:4222,tls://b:1",
		"u:p@ss@a":                        "a",
		"nats://context:prod":             "nats://context:prod",
		"nats://u:p@h/w@a:4222,nats://b:": "nats://a:4222,nats://b:",
	} {
		if got := redactURL(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}

// Another program may get the port of a killed server. A reconnecting client must not send its
// password there.
//
//guarantee:port-taken
func TestDialer_OtherServerOnTheOldPort(t *testing.T) {
	dir := t.TempDir()
	foreign, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if err := os.WriteFile(filepath.Join(dir, "url"), []byte("nats://"+foreign.Addr().String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() {
		conn, err := foreign.Accept()
		if err != nil {
			t.Error(err)
			close(got)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, `INFO {"server_id":"X","server_name":"another","version":"2.15.2","headers":true,"max_payload":1048576}`+"\r\n")
		data, _ := io.ReadAll(conn) // only the data counts
		got <- data
	}()
	nc, err := nats.Connect(nats.DefaultURL, nats.UserInfo("hooktrail", "secret"), nats.SetCustomDialer(dialer{dir: dir, name: serverName("secret")}))
	if err == nil {
		nc.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("connected: %v", err)
	}
	if data := <-got; len(data) > 0 {
		t.Errorf("another program's server got %d bytes", len(data))
	}
}
