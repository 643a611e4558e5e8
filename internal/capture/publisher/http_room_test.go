package publisher

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/decision"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/internal/capture/intake"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func post(path, contentType string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080"+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return r
}

// Each route refuses a body that finds no place, also if only its decompressed form is large. Small
// bodies and many small events find one.
//
//guarantee:intake-bounded
func TestHandler_RoomForBodies(t *testing.T) {
	_, b := open(t)
	service, err := NewHookService(nil, &recorder{}, Options{DataDir: t.TempDir(), Broker: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.close(context.Background()) })
	registry := hooks.NewRegistry(hooks.Options{Appender: &recorder{}, Source: "/test"})
	to := &recorder{}
	h := Handler(to, HandlerOptions{Hooks: service, Room: intake.Limits{SenderBytes: 128 << 10}, Decisions: decision.New(decision.Options{
		Registry: registry, Caller: TenantOf, User: userFor, Admit: func(string) error { return nil },
	})})
	large := strings.Repeat("x", 300<<10)
	for _, tt := range []struct{ path, media, body string }{
		{"/v1/events", structuredType, `{"specversion":"1.0","id":"1","source":"s","type":"t","data":"` + large + `"}`},
		{"/v1/events", linesType, `{"specversion":"1.0","id":"1","source":"s","type":"t","data":"` + large + `"}`},
		{"/v1/hooks/claude-code", "application/json", `{"session_id":"` + large + `"}`},
		{"/v1/decisions", "application/json", `{"point":"` + large + `"}`},
		{"/v1/traces", otlp.JSON, `{"a":"` + large + `"}`},
		{"/v1/logs", otlp.JSON, `{"a":"` + large + `"}`},
	} {
		plain := post(tt.path, tt.media, []byte(tt.body))
		packed := post(tt.path, tt.media, zipped(tt.body).Bytes())
		packed.Header.Set("Content-Encoding", "gzip")
		for _, r := range []*http.Request{plain, packed} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || w.Header().Get("Hooktrail-Busy") != "1" {
				t.Errorf("%s %s: got %d %v", tt.path, r.Header.Get("Content-Encoding"), w.Code, w.Header())
			}
		}
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `{"specversion":"1.0","id":"%d","source":"s","type":"t","data":"%01000d"}`+"\n", i, i)
	}
	if w := send(h, "", "/v1/events", linesType, many.String()); w.Code != http.StatusAccepted || len(to.list) != 1000 {
		t.Errorf("many small events: got %d, %d events", w.Code, len(to.list))
	}
}

// Sixty large hook bodies that wait for their hooks hold at most the bytes of the limits. A usual
// payload is still decided, and so is one of another tenant.
//
//guarantee:intake-bounded
func TestHandler_WaitingBodies(t *testing.T) {
	const size, places = 256 << 10, 5
	release := make(chan struct{})
	waiting := make(chan struct{}, 60)
	h, token, _ := withTokens(t, &recorder{}, HandlerOptions{Room: intake.Limits{SenderBytes: places * size}, Hooks: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(problemOf(err).Status)
			return
		}
		if len(body) == size {
			waiting <- struct{}{}
			<-release
		}
	})})
	ask := func(body int) int {
		r := post("/v1/hooks/claude-code", "application/json", make([]byte, body))
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var senders sync.WaitGroup
	statuses := make(chan int, 60)
	for range 60 {
		senders.Go(func() { statuses <- ask(size) })
	}
	refused := 0
	for len(waiting)+refused < 60 {
		if status := <-statuses; status != http.StatusTooManyRequests {
			t.Fatalf("got status %d", status)
		}
		if refused++; refused == 60-places-1 {
			break
		}
	}
	if len(waiting) > places+1 { // the first 64 KiB of each body need no place
		t.Errorf("%d bodies wait, want at most %d", len(waiting), places+1)
	}
	if got := ask(10 << 10); got != http.StatusOK {
		t.Errorf("a usual payload: got status %d", got)
	}
	close(release)
	senders.Wait()
	if got := ask(size); got != http.StatusOK {
		t.Errorf("afterwards: got status %d", got)
	}
}

// pipes is a listener of connections in memory, which a fake clock can time out.
type pipes struct{ accept chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.accept
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { close(p.accept); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// A body with one byte per second loses its place after a minute, with status 408.
//
//guarantee:intake-bounded
func TestServer_SlowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler(&recorder{}, HandlerOptions{Room: intake.Limits{SenderRequests: 2}})
		srv, err := (Access{}).Server(t.Context(), h, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		l := pipes{make(chan net.Conn)}
		var serving sync.WaitGroup
		serving.Go(func() { _ = srv.Serve(l) })
		start := time.Now()
		dial := func() (net.Conn, *bufio.Reader) {
			client, server := net.Pipe()
			l.accept <- server
			return client, bufio.NewReader(client)
		}
		const head = "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + structuredType + "\r\nContent-Length: 1000\r\n\r\n"
		var slow sync.WaitGroup
		for range 2 {
			conn, r := dial()
			slow.Go(func() {
				_, err := io.WriteString(conn, head)
				for err == nil {
					time.Sleep(time.Second)
					_, err = io.WriteString(conn, " ")
				}
			})
			slow.Go(func() {
				resp, err := http.ReadResponse(r, nil) //nolint:bodyclose // the connection is closed
				if err != nil || resp.StatusCode != http.StatusRequestTimeout || time.Since(start) > 2*chunkTimeout {
					t.Errorf("after %v: got %v, %v", time.Since(start), resp, err)
				}
				_ = conn.Close()
			})
		}
		time.Sleep(10 * time.Second)
		ask := func() int {
			conn, r := dial()
			defer conn.Close()
			go func() { _, _ = io.WriteString(conn, strings.Replace(head, "1000", "2", 1)+"[]") }()
			resp, err := http.ReadResponse(r, nil) //nolint:bodyclose // the connection is closed
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode
		}
		if got := ask(); got != http.StatusTooManyRequests {
			t.Errorf("meanwhile: got status %d", got)
		}
		slow.Wait()
		synctest.Wait()
		if got := ask(); got != http.StatusBadRequest { // it is not one event
			t.Errorf("afterwards: got status %d", got)
		}
		_ = srv.Close()
		serving.Wait()
	})
}
