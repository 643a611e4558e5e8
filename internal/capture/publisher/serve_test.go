package publisher

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func TestRun_PortInUse(t *testing.T) {
	_, b := open(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	err = Run(t.Context(), Options{Broker: b, DataDir: t.TempDir(), Listen: address})
	want := "listen on " + address + ": in use by another process; --listen takes another address"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A publisher accepts events even if it starts without a broker.
func TestRun_BrokerComesLater(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir())
	srv.Stop()
	b, err := broker.Open(t.Context(), broker.Options{URL: srv.URL(), Later: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir()})
	if status, body := r.post(t, one("early")); status != http.StatusAccepted {
		t.Fatalf("got %d %s", status, body)
	}
	srv.Restart(t)
	r.end(t)
	if list := srv.Events(t); len(list) != 1 || list[0].ID != "early" {
		t.Errorf("in the stream: got %d events, want the one", len(list))
	}
}

// Run returns nil if it is stopped while it waits for another process to release the
// outbox.
func TestRun_StopsWhileItWaitsForAnother(t *testing.T) {
	_, b := open(t)
	dir := t.TempDir()
	runServer(t, Options{Broker: b, DataDir: dir})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := Run(ctx, Options{Broker: b, DataDir: dir, Listen: "127.0.0.1:0"}); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestOptions_NamesTheFlag(t *testing.T) {
	for flag, opts := range map[string]Options{
		"--max-body": {Listen: DefaultListen, MaxBody: -1}, "--quota": {Listen: DefaultListen, Quota: -1}, "--listen": {Listen: "nowhere"},
	} {
		if err := opts.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("got %v, want it to name %s", err, flag)
		}
	}
}
