package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/problem"
)

type running struct {
	url  string
	stop context.CancelFunc
	done chan error
}

func runServer(t *testing.T, opts Options) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, done: make(chan error, 1)}
	address := make(chan string, 1)
	opts.Listen, opts.Ready = "127.0.0.1:0", func(a string) { address <- a }
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.done <- Run(ctx, opts)
	}()
	select {
	case a := <-address:
		r.url = "http://" + a
	case err := <-r.done:
		t.Fatalf("run: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return r
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		t.Fatalf("a clean stop: got %v", err)
	}
}

func (r *running) post(t *testing.T, body string) (int, string) {
	t.Helper()
	return r.postTo(t, "/v1/events", http.Header{"Content-Type": {structuredType}}, strings.NewReader(body))
}

func reply(t *testing.T, resp *http.Response) (int, string) {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (r *running) get(t *testing.T, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(r.url + path)
	if err != nil {
		t.Fatal(err)
	}
	return reply(t, resp)
}

func TestRun(t *testing.T) {
	srv, b := open(t)
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir()})
	if status, text := r.get(t, "/livez"); status != 200 {
		t.Errorf("livez: got %d %s", status, text)
	}
	if status, text := r.get(t, "/readyz"); status != 200 || !strings.HasPrefix(text, "ok\n") {
		t.Errorf("readyz: got %d %s", status, text)
	}
	for _, id := range []string{"1", "2", "3"} {
		if status, text := r.post(t, one(id)); status != 202 {
			t.Fatalf("got %d %s", status, text)
		}
	}
	if status, text := r.post(t, "{}"); status != 400 {
		t.Errorf("got %d %s, want 400", status, text)
	}
	r.end(t)
	if diff := cmp.Diff([]string{"1", "2", "3"}, without(srv.Events(t))); diff != "" {
		t.Errorf("in the stream (-want +got):\n%s", diff)
	}
}

// TestRun_Full fills the outbox while the broker is away. Senders then get 503, and
// each acknowledged event arrives once.
//
//guarantee:outbox-full
func TestRun_Full(t *testing.T) {
	srv, b := open(t)
	dir := t.TempDir()
	r := runServer(t, Options{Broker: b, DataDir: dir, Quota: 4000})
	srv.Stop()
	var taken []string
	for i := range 100 {
		id := string(rune('a'+i%26)) + string(rune('a'+i/26))
		status, text := r.post(t, one(id))
		if status == 503 {
			var p problem.Problem
			if err := json.Unmarshal([]byte(text), &p); err != nil || p.Detail != "the outbox is full" {
				t.Errorf("got %s, %v", text, err)
			}
			break
		}
		if status != 202 {
			t.Fatalf("got %d %s", status, text)
		}
		taken = append(taken, id)
	}
	if len(taken) == 0 || len(taken) == 100 {
		t.Errorf("got %d events taken, want some", len(taken))
	}
	// Nobody sends events to a publisher that is not ready, so it must become ready by itself.
	if status, body := r.get(t, "/readyz"); status != 503 || !strings.HasPrefix(body, "events are refused: outbox is full: quota reached") {
		t.Errorf("readyz of a full outbox: got %d %s", status, body)
	}
	srv.Restart(t)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		status, body := r.get(t, "/readyz")
		if status == 200 && strings.HasPrefix(body, "ok\n") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("readyz does not recover: got %d %s", status, body)
		}
	}
	r.end(t)
	if diff := cmp.Diff(taken, without(srv.Events(t))); diff != "" {
		t.Errorf("in the stream (-want +got):\n%s", diff)
	}
}

func TestRun_Refuses(t *testing.T) {
	_, b := open(t)
	for _, listen := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "nowhere"} {
		if err := Run(t.Context(), Options{Broker: b, DataDir: t.TempDir(), Listen: listen}); !errors.Is(err, ErrListen) {
			t.Errorf("listen on %s: got %v, want %v", listen, err, ErrListen)
		}
	}
	if err := (Options{Listen: "0.0.0.0:0", AllowRemote: true}).Validate(); err != nil {
		t.Errorf("allowed: got %v", err)
	}
}
