package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// recorder is an Appender that stores events, and fails for the ids in fail.
type recorder struct {
	mu   sync.Mutex // guards list
	list []events.Event
	fail map[string]error
}

func (r *recorder) Append(_ context.Context, e events.Event) (events.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fail[e.ID]; err != nil {
		return events.Event{}, fmt.Errorf("append %s: %w", e.ID, err)
	}
	r.list = append(r.list, e)
	return e, nil
}

func one(id string) string {
	return `{"specversion":"1.0","id":"` + id + `","source":"s","type":"t"}`
}

// An event of another tenant ends a batch, but the events before it are stored.
func TestHandler_OtherTenantInBatch(t *testing.T) {
	to := &recorder{}
	body := "[" + one("1") + `,{"specversion":"1.0","id":"2","source":"s","type":"t","tenant":"other"}]`
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/events", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/cloudevents-batch+json")
	w := httptest.NewRecorder()
	Handler(to, HandlerOptions{Tenant: "acme"}).ServeHTTP(w, r)
	if want := `"index":1,"attribute":"tenant","line":1,"offset":` + strconv.Itoa(2+len(one("1"))) + `,"accepted":1,"ids":["1"]`; w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s, want 403 %s", w.Code, w.Body, want)
	}
	if len(to.list) != 1 || to.list[0].Tenant != "acme" {
		t.Errorf("took %v, want the first, as acme's", to.list)
	}
}

// A slow sender gets status 408. The time limit of the response begins after the body.
func TestHandler_SlowBody(t *testing.T) {
	srv := httptest.NewUnstartedServer(Handler(&recorder{}, HandlerOptions{}))
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	srv.Start()
	defer srv.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/cloudevents+json\r\nContent-Length: 9\r\n\r\n{")
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") || !strings.Contains(string(answer), "body did not come in time") {
		t.Errorf("got %s, %v, want to be told", answer, err)
	}
}

// A slow sender also gets status 408 over HTTP/2, where an expired write deadline
// cannot be extended.
func TestHandler_SlowBodyHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(Handler(&recorder{}, HandlerOptions{}))
	srv.EnableHTTP2 = true
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = 600*time.Millisecond, 500*time.Millisecond
	srv.StartTLS()
	defer srv.Close()
	body, sender := io.Pipe()
	defer sender.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/events", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", structuredType)
	got, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := reply(t, got); status != http.StatusRequestTimeout || got.ProtoMajor != 2 {
		t.Errorf("got %s %d %s, want to be told", got.Proto, status, text)
	}
}

type deadlines struct {
	http.ResponseWriter

	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = append(d.read, t); return nil }

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = append(d.write, t); return nil }

// Each chunk of a body extends both deadlines.
func TestHandler_LongBody(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/events", strings.NewReader(strings.Repeat(strings.Repeat(" ", 1<<10)+one("1")+"\n", 3<<10)))
	r.Header.Set("Content-Type", linesType)
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	Handler(&recorder{}, HandlerOptions{}).ServeHTTP(w, r)
	if len(w.read) != 3 || len(w.write) != 1+3+1 {
		t.Fatalf("got %d times to read and %d to write, want one for each MiB, and two more", len(w.read), len(w.write))
	}
	for i, until := range w.read {
		if !w.write[i+1].After(until) {
			t.Errorf("at MiB %d: the answer has until %v, the body until %v", i, w.write[i+1], until)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "localhost:8080": true, "LocalHost": true, "[::1]": true, "[::1]:8080": true,
		"": false, "localhost.evil.example": false, "10.0.0.1:80": false, "[::2]": false,
	} {
		if got := isLoopback(hostOf(host)); got != want {
			t.Errorf("host %q: got %v, want %v", host, got, want)
		}
	}
}

func TestHandler(t *testing.T) {
	const (
		structured = "application/cloudevents+json"
		batch      = "application/cloudevents-batch+json"
	)
	tests := []struct {
		name    string
		method  string
		host    string
		headers map[string]string
		body    string
		status  int
		want    string // the reply, or a part of it
		ids     []string
	}{
		{name: "Structured", headers: map[string]string{"Content-Type": structured}, body: one("1"), status: 202, want: `{"accepted":1,"ids":["1"]}`, ids: []string{"1"}},
		{name: "Batch", headers: map[string]string{"Content-Type": batch}, body: "[" + one("1") + "," + one("2") + "]", status: 202, want: `{"accepted":2,"ids":["1","2"]}`, ids: []string{"1", "2"}},
		{name: "EmptyBatch", headers: map[string]string{"Content-Type": batch}, body: "[]", status: 202, want: `{"accepted":0,"ids":[]}`},
		{name: "Binary", headers: map[string]string{"Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Source": "s", "Ce-Type": "t", "Content-Type": "text/plain"}, body: "x", status: 202, want: `{"accepted":1,"ids":["1"]}`, ids: []string{"1"}},
		{name: "NotJSON", headers: map[string]string{"Content-Type": structured}, body: "{", status: 400, want: `{"type":"about:blank","title":"Bad Request","status":400,"detail":"unexpected end, want a name in quotes (line 1, byte 1)","line":1,"offset":1}`},
		{name: "BadPayload", headers: map[string]string{"Content-Type": batch}, body: "[" + one("1") + `,{"specversion":"1.0","id":"2","source":"s","type":"hooktrail.step.finished","time":"2026-01-01T00:00:00Z","runid":"r","data":{"step_status":"odd"}}]`, status: 400, want: `"index":1,"attribute":"data.step_status"`, ids: []string{"1"}},
		{name: "LongSubject", headers: map[string]string{"Content-Type": batch}, body: "[" + one("1") + `,{"specversion":"1.0","id":"2","source":"s","type":"hooktrail.custom","time":"2026-01-01T00:00:00Z","subject":"` + strings.Repeat("s", 300) + `"}]`, status: 400, want: `"index":1`, ids: []string{"1"}},
		{name: "TooLarge", headers: map[string]string{"Content-Type": structured}, body: strings.Repeat(" ", 2000) + one("1"), status: 413, want: `"detail":"body is larger than 1000 bytes"`},
		{name: "OtherType", headers: map[string]string{"Content-Type": "application/json"}, body: one("1"), status: 415, want: `nor ce- headers"}`},
		{name: "Full", headers: map[string]string{"Content-Type": structured}, body: one("full"), status: 503, want: `"detail":"the outbox is full"`},
		{name: "FullInBatch", headers: map[string]string{"Content-Type": batch}, body: "[" + one("1") + "," + one("full") + "]", status: 503, want: `"index":1,"line":1,"offset":56,"accepted":1,"ids":["1"]`, ids: []string{"1"}},
		{name: "Shed", headers: map[string]string{"Content-Type": batch}, body: "[" + one("1") + "," + one("shed") + "," + one("2") + "]", status: 202, want: `{"accepted":3,"shed":1,"ids":["1","shed","2"]}`, ids: []string{"1", "2"}},
		{name: "LargerThanTheQuota", headers: map[string]string{"Content-Type": structured}, body: one("large"), status: 413, want: "--quota"},
		{name: "Closed", headers: map[string]string{"Content-Type": structured}, body: one("closed"), status: 503, want: `shutting down`},
		{name: "OtherTenant", headers: map[string]string{"Content-Type": structured}, body: one("foreign"), status: 403, want: `"attribute":"tenant"`},
		{name: "Broken", headers: map[string]string{"Content-Type": structured}, body: one("broken"), status: 500, want: `"detail":"the event was not stored"`},
		{name: "Method", method: http.MethodGet, status: 405, want: "Method Not Allowed"},
		{name: "OtherOrigin", headers: map[string]string{"Content-Type": structured, "Sec-Fetch-Site": "cross-site"}, body: one("1"), status: 403, want: "cross-origin"},
		{name: "OtherName", host: "evil.example", headers: map[string]string{"Content-Type": structured}, body: one("1"), status: 421, want: "loopback only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to := &recorder{fail: map[string]error{
				"full": publish.ErrFull, "shed": publish.ErrShed, "large": publish.ErrTooLarge, "closed": publish.ErrClosed, "foreign": publish.ErrForeignTenant, "broken": errors.New("secret"),
			}}
			if tt.method == "" {
				tt.method = http.MethodPost
			}
			r := httptest.NewRequest(tt.method, "http://127.0.0.1:8080/v1/events", strings.NewReader(tt.body))
			for k, v := range tt.headers {
				r.Header.Set(k, v)
			}
			if tt.host != "" {
				r.Host = tt.host
			}
			w := httptest.NewRecorder()
			Handler(to, HandlerOptions{MaxBody: 1000}).ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the reply tells internals: %s", w.Body)
			}
			var ids []string
			for _, e := range to.list {
				ids = append(ids, e.ID)
				if e.Tenant != "default" {
					t.Errorf("event %s: got tenant %q, want the default", e.ID, e.Tenant)
				}
			}
			if diff := cmp.Diff(tt.ids, ids); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			if w.Code >= 400 && strings.Contains(w.Header().Get("Content-Type"), "json") {
				var p problem.Problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Title == "" {
					t.Errorf("got problem %+v, %v", p, err)
				}
			}
			if got := w.Header().Get("Retry-After"); (w.Code == 503) != (got != "") {
				t.Errorf("got Retry-After %q with status %d", got, w.Code)
			}
		})
	}
}
