package publisher

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// batchOf generates a batch of n events while it is read.
func batchOf(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		var err error
		for i := 0; i < n && err == nil; i++ {
			before := ","
			if i == 0 {
				before = "["
			}
			_, err = io.WriteString(w, before+one(strconv.Itoa(i))+"\n")
		}
		_, _ = io.WriteString(w, "]") // the reader may have ended
		w.CloseWithError(err)
	}()
	return r
}

func (r *running) postTo(t *testing.T, path string, header http.Header, body io.Reader) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return reply(t, resp)
}

// A batch of 100,000 events is stored while it arrives. A repetition adds nothing.
func TestRun_LargeBatch(t *testing.T) {
	count := race.Size(100_000, 10_000)
	srv, b := open(t)
	dir := t.TempDir()
	r := runServer(t, Options{Broker: b, DataDir: dir})
	header := http.Header{"Content-Type": {batchType}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, want := range []accepted{{Accepted: count}, {Accepted: count, Duplicates: count}} {
		status, body := r.postTo(t, "/v1/events", header, batchOf(count))
		var got accepted
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusAccepted || got.Accepted != want.Accepted || got.Duplicates != want.Duplicates || len(got.IDs) != maxIDs {
			t.Errorf("time %d: got %d %+.100v, want %+v", i, status, got, want)
		}
	}
	runtime.ReadMemStats(&after)
	t.Logf("heap from the system grew by %d MiB", (int64(after.HeapSys)-int64(before.HeapSys))>>20)
	waitEmpty(t, dir) // after some seconds, end would leave the rest in the outbox
	r.end(t)
	if n := len(srv.Events(t)); n != count {
		t.Errorf("got %d events in the stream, want %d", n, count)
	}
}

// A large event is split into chunks, which does not affect the next event.
func TestRun_LargeEvent(t *testing.T) {
	srv, b := open(t)
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir()})
	large := `{"specversion":"1.0","id":"large","source":"s","type":"hooktrail.custom","time":"2026-01-01T00:00:00Z","data":{"name":"n","raw":"` + strings.Repeat("a b ", 11<<20/40) + `"}}`
	for _, body := range []string{large, one("small")} {
		if status, answer := r.post(t, body); status != http.StatusAccepted {
			t.Fatalf("got %d %s", status, answer)
		}
	}
	r.end(t)
	list := srv.Events(t)
	last := list[len(list)-1]
	var named events.Common
	for _, e := range list {
		if e.ID == "large" {
			p, err := events.Payload[events.CustomData](e)
			if err != nil {
				t.Fatal(err)
			}
			named = p.Common
		}
	}
	if last.ID != "small" || len(named.Blobs) != 1 || list[0].Kind() != events.BlobChunk {
		t.Errorf("got %d events, the last %s, blobs %v", len(list), last.ID, named.Blobs)
	}
}

func zipped(text string) *bytes.Buffer {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // a buffer does not fail
	_ = w.Close()
	return &b
}

// A body may be compressed with gzip. The limit applies to the uncompressed size.
func TestHandler_Gzip(t *testing.T) {
	for name, tt := range map[string]struct {
		body     io.Reader
		encoding string
		status   int
		want     string
	}{
		"Taken":     {zipped(one("1")), "gzip", 202, `"accepted":1`},
		"Bomb":      {zipped(strings.Repeat(" ", 1<<20) + one("1")), "gzip", 413, "larger than 1000 bytes"},
		"NotGzip":   {strings.NewReader(one("1")), "gzip", 400, "not gzip"},
		"Cut":       {io.LimitReader(zipped(one("1")), 40), "gzip", 400, "ends early"},
		"Twice":     {zipped(one("1")), "gzip, gzip", 415, "not supported"},
		"Brotli":    {strings.NewReader(""), "br", 415, "not supported"},
		"Identity":  {strings.NewReader(one("1")), "identity", 202, `"accepted":1`},
		"Traversed": {zipped(one("1")), "X-GZIP", 202, `"accepted":1`},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/events", tt.body)
			r.Header.Set("Content-Type", structuredType)
			r.Header.Set("Content-Encoding", tt.encoding)
			w := httptest.NewRecorder()
			Handler(&recorder{}, HandlerOptions{MaxBody: 1000}).ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

// A sender that sends its whole body first still reads the response, with or without a
// Content-Length.
func TestRun_RefusalIsRead(t *testing.T) {
	_, b := open(t)
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir(), MaxBody: 2 << 20})
	long := strings.Repeat(" ", 8<<20)
	for name, tt := range map[string]struct {
		body   io.Reader
		status int
		want   string
	}{
		"Length":   {strings.NewReader(long), 413, "larger than 2097152 bytes"},
		"NoLength": {io.MultiReader(strings.NewReader(long)), 413, "larger than 2097152 bytes"},
		"Junk":     {strings.NewReader("[\n" + one("1") + ",\n{}," + long[:1<<20]), 400, `"index":1,"attribute":"specversion","line":3`},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := r.postTo(t, "/v1/events", http.Header{"Content-Type": {batchType}}, tt.body)
			if status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s, want %d %s", status, body, tt.status, tt.want)
			}
		})
	}
}

// A sender also reads a refusal that does not depend on the body.
func TestHandler_RefusalIsRead(t *testing.T) {
	sent, _ := Limit(&recorder{}, quota.Limits{Events: 0.001})
	h, acme, _ := withTokens(t, sent, HandlerOptions{})
	if w := send(h, acme, "/v1/events", structuredType, one("1")); w.Code != http.StatusAccepted {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	body := strings.Repeat(one("1")+"\n", 8<<20/len(one("1")))
	for token, want := range map[string]string{"none": "HTTP/1.1 401 ", acme.Reveal(): "HTTP/1.1 429 "} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			token, linesType, len(body), body)
		if err != nil {
			t.Errorf("want %s: %v", want, err)
			continue
		}
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), want) {
			t.Errorf("got %s, %v, want %s", answer, err, want)
		}
	}
}

type fullOutbox struct{}

func (fullOutbox) Append(ctx context.Context, _ events.Event) (events.Event, error) {
	<-ctx.Done()
	return events.Event{}, ctx.Err()
}

// A sender waits only for a limited time for space in the outbox.
func TestHandler_WaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := send(Handler(fullOutbox{}, HandlerOptions{}), "", "/v1/events", structuredType, one("1"))
		if took := time.Since(began); w.Code != http.StatusServiceUnavailable || took != replyTimeout {
			t.Errorf("got %d %s after %v, want 503 after %v", w.Code, w.Body, took, replyTimeout)
		}
	})
}

// Telemetry is stored once, for the tenant of the caller, and rejected items are
// reported.
func TestHandler_OTLP(t *testing.T) {
	const span = `{"traceId":"ea673708441c2984a54a3e3962d3595f","spanId":"b904bffb20be6d7e","name":"n","attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"t"}}]}`
	doc := func(spans string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + spans + `]}]}]}`
	}
	record := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}`
	to := &recorder{}
	h, acme, _ := withTokens(t, to, HandlerOptions{})
	for name, tt := range map[string]struct {
		path, media, body string
		status            int
		want              string
		events            int
	}{
		"Traces":  {"/v1/traces", "application/json", doc(span), 200, "{}", 4},
		"Partial": {"/v1/traces", "application/json; charset=utf-8", doc("{}," + span + ",{}"), 200, `{"partialSuccess":{"errorMessage":"the first, 0: no trace id of 16 bytes","rejectedSpans":"2"}}`, 4},
		"Logs":    {"/v1/logs", "application/json", record, 200, "{}", 1},
		"Empty":   {"/v1/logs", "application/x-protobuf", "", 200, "", 0},
		"Junk":    {"/v1/traces", "application/json", "{", 400, `{"code":3,"message":"not an OTLP request: not JSON (byte 1)"}`, 0},
		"Binary":  {"/v1/traces", "application/x-protobuf", "\x0a\xff", 400, "\x08\x03\x12", 0},
		"Text":    {"/v1/traces", "text/plain", "", 415, "application/x-protobuf", 0},
	} {
		t.Run(name, func(t *testing.T) {
			to.list = nil
			w := send(h, acme, tt.path, tt.media, tt.body)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || len(to.list) != tt.events {
				t.Errorf("got %d %s and %d events, want %d %s and %d", w.Code, w.Body, len(to.list), tt.status, tt.want, tt.events)
			}
			for _, e := range to.list {
				if e.Tenant != "acme" {
					t.Errorf("stored as %s's", e.Tenant)
				}
			}
		})
	}
	if w := send(h, "", "/v1/traces", "application/json", doc(span)); w.Code != http.StatusUnauthorized {
		t.Errorf("without a token: got %d", w.Code)
	}
}
