package publisher

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/internal/capture/quota"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// A tenant above a limit gets 429 with the limit, its flag and Retry-After, and can
// continue after that time. The response has the number of accepted events. Other
// tenants are not affected. An event counts for its own tenant, even without tokens.
//
//guarantee:tenant-quota
func TestHandler_Quotas(t *testing.T) {
	for flag, tt := range map[string]struct {
		limits  quota.Limits
		perRun  bool
		accepts int
	}{
		"--rate-limit": {quota.Limits{Events: 2, Burst: 5 * time.Second}, false, 10},
		"--rate-bytes": {quota.Limits{Bytes: 12, Burst: 5 * time.Second}, false, 5}, // 12 is the size of the data of an event
		"--rate-runs":  {quota.Limits{Runs: 1, Burst: 3 * time.Second}, true, 3},
	} {
		t.Run(flag, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &recorder{}
				sent, _ := Limit(to, tt.limits)
				h := Handler(sent, HandlerOptions{})
				var rows strings.Builder
				for i := range 100 {
					row := of(strconv.Itoa(i), "acme")
					if tt.perRun {
						row = strings.Replace(row, `"tenant"`, `"runid":"run-`+strconv.Itoa(i)+`","tenant"`, 1)
					}
					rows.WriteString(row + "\n")
				}
				w := send(h, "", "/v1/events", linesType, rows.String())
				want := `"accepted":` + strconv.Itoa(tt.accepts) + ","
				if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), flag) {
					t.Errorf("got %d %s, want 429, %s and %s", w.Code, w.Body, want, flag)
				}
				if len(to.list) != tt.accepts {
					t.Errorf("%d events are stored, want %d", len(to.list), tt.accepts)
				}
				for _, tenant := range []string{"other", "default"} {
					if w := send(h, "", "/v1/events", structuredType, of("1", tenant)); w.Code != http.StatusAccepted {
						t.Errorf("tenant %s: got %d %s", tenant, w.Code, w.Body)
					}
				}
				after, err := strconv.Atoi(w.Header().Get("Retry-After"))
				if err != nil || after < 1 || after > 5 {
					t.Fatalf("Retry-After %q, %v", w.Header().Get("Retry-After"), err)
				}
				time.Sleep(time.Duration(after) * time.Second)
				if w := send(h, "", "/v1/events", structuredType, of("again", "acme")); w.Code != http.StatusAccepted {
					t.Errorf("after Retry-After: got %d %s", w.Code, w.Body)
				}
			})
		})
	}
}

// Above a limit, an exporter gets 429 with a pause, after which it repeats the
// telemetry.
func TestHandler_QuotaOfTelemetry(t *testing.T) {
	sent, _ := Limit(&recorder{}, quota.Limits{Events: 0.1})
	h := Handler(sent, HandlerOptions{})
	logs := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a"}},{"body":{"stringValue":"b"}}]}]}]}`
	w := send(h, "", "/v1/logs", otlp.JSON, logs)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "10" || !strings.Contains(w.Body.String(), "--rate-limit") {
		t.Errorf("got %d %s, %v", w.Code, w.Body, w.Header())
	}
}

// A body that becomes no events counts towards the limit of bytes, and one with too many items is
// refused before it is decoded.
func TestHandler_QuotaOfEmptyTelemetry(t *testing.T) {
	sent, _ := Limit(&recorder{}, quota.Limits{Bytes: 1}) // so few that a slow test regains no body
	h := Handler(sent, HandlerOptions{})
	empty := func(n int) string { return `{"resourceLogs":[` + strings.Repeat("{},", n) + `{}]}` }
	if w := send(h, "", "/v1/logs", otlp.JSON, empty(400_000)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("many items: got %d %s", w.Code, w.Body)
	}
	if w := send(h, "", "/v1/logs", otlp.JSON, empty(10)); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "--rate-bytes") {
		t.Errorf("after it: got %d %s", w.Code, w.Body)
	}
}

// A sender that repeats a batch above the burst gets it accepted in parts, because
// stored events do not count again.
func TestRun_QuotaOfRepeatedBatch(t *testing.T) {
	srv, b := open(t)
	opts := Options{Broker: b, DataDir: t.TempDir(), Access: Access{Limits: quota.Limits{Events: 40}}}
	r := runServer(t, opts)
	var rows strings.Builder
	for i := range 100 {
		rows.WriteString(of(strconv.Itoa(i), "acme") + "\n")
	}
	var refused int
	for {
		status, body := r.postTo(t, "/v1/events", http.Header{"Content-Type": {linesType}}, strings.NewReader(rows.String()))
		if status == http.StatusAccepted {
			break
		}
		if refused++; status != http.StatusTooManyRequests || refused > 1000 {
			t.Fatalf("time %d: got %d %s", refused, status, body)
		}
		time.Sleep(20 * time.Millisecond) // real time, because a server runs
	}
	r.end(t)
	if n := len(srv.Events(t)); n != 100 || refused == 0 {
		t.Errorf("%d events are in the stream after %d refusals", n, refused)
	}
}

// Hooks decide and record even above the limits. Otherwise an agent could avoid the
// record by sending too much.
//
//guarantee:tenant-quota
func TestHookService_AboveQuota(t *testing.T) {
	_, b := open(t)
	r := runServer(t, Options{
		Broker: b, DataDir: t.TempDir(), Hooks: parseHooks(t, hookclienttest.NoRemoval),
		Access: Access{Limits: quota.Limits{Events: 0.001}}, Full: new(publish.Fail),
	})
	if status, body := r.post(t, of("1", "default")); status != http.StatusAccepted {
		t.Fatalf("got %d %s", status, body)
	}
	if status, body := r.post(t, of("2", "default")); status != http.StatusTooManyRequests {
		t.Fatalf("got %d %s", status, body)
	}
	tt := hookclienttest.Removals[0]
	for range 2 {
		status, body := r.postTo(t, "/v1/hooks/"+tt.Tool+"?event="+tt.Event, http.Header{"Content-Type": {"application/json"}}, strings.NewReader(tt.Payload))
		if status != http.StatusOK || body != tt.Denied+"\n" {
			t.Errorf("got %d %s", status, body)
		}
	}
	r.end(t)
}

// Requests for decisions about tenants beyond the limit are refused before a hook runs.
//
//guarantee:tenant-flood
func TestRun_DecisionOfUnknownTenant(t *testing.T) {
	_, b := open(t)
	dir := t.TempDir()
	r := runServer(t, Options{
		Broker: b, DataDir: dir, Hooks: parseHooks(t, hookclienttest.NoRemoval), Tenants: admission.New(admission.Options{}),
	})
	document := func(tenant string) string {
		return `{"point":"tool.before","tenant":"` + tenant + `","meta":{"tenant":"` + tenant + `"},"tool":"Bash","args":{"command":"ls"}}`
	}
	for path, media := range map[string]string{"/v1/decisions": "application/json", "/v1/hooks/claude-code": hookclient.DocumentType} {
		for tenant, want := range map[string]int{"default": http.StatusOK, "mallory": http.StatusForbidden} {
			status, body := r.postTo(t, path, http.Header{"Content-Type": {media}}, strings.NewReader(document(tenant)))
			if status != want || want == http.StatusForbidden && !strings.Contains(body, "--new-tenants") {
				t.Errorf("%s for %s: got %d %s, want %d", path, tenant, status, body, want)
			}
		}
	}
	r.end(t)
}
