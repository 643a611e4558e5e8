package publisher

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/groupsocket"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// With the address none the server only serves its socket, and still stops.
//
//guarantee:socket-only
func TestRun_SocketOnly(t *testing.T) {
	srv, b := open(t)
	path := filepath.Join(t.TempDir(), "run", "p.sock")
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	opts := Options{
		Broker: b, DataDir: t.TempDir(), Listen: NoAddress, Ready: func(address string) { ready <- address },
		Access: Access{Socket: groupsocket.Options{Path: path}},
	}
	go func() { ended <- Run(ctx, opts) }()
	select {
	case address := <-ready:
		if address != NoAddress {
			t.Errorf("it listens on %s", address)
		}
	case err := <-ended:
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	resp, err := client.Post("http://localhost/v1/events", "application/cloudevents+json", strings.NewReader(one("1")))
	if err != nil {
		t.Fatal(err)
	}
	if status, body := reply(t, resp); status != http.StatusAccepted {
		t.Errorf("got %d %s", status, body)
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if list := srv.Events(t); len(list) == 0 || list[0].Kind() != events.Custom {
		t.Errorf("in the stream: %v", list)
	}
	opts.Access = Access{}
	if err := opts.Validate(); !errors.Is(err, ErrListen) {
		t.Errorf("without a socket: got %v, want %v", err, ErrListen)
	}
}
