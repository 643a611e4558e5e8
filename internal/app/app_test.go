package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type running struct {
	Addresses
	stop func() // fails the test if Run does not end well
}

func startUp(t *testing.T, dir string, change ...func(*Options)) running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	listening := make(chan Addresses, 1)
	ended := make(chan error, 1)
	opts := Options{
		DataDir: dir, HTTPListen: "127.0.0.1:0", DrainTimeout: 30 * time.Second,
		Logger: slog.New(slog.DiscardHandler), Listening: func(a Addresses) { listening <- a },
	}
	for _, c := range change {
		c(&opts)
	}
	go func() { ended <- Run(ctx, opts) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("up ended with: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case a := <-listening:
		return running{a, stop}
	case err := <-ended:
		t.Fatalf("up: %v", err)
		return running{}
	}
}

func (r running) ready(t *testing.T) (int, Readiness) {
	t.Helper()
	status, body, err := ask(http.Get(r.HTTP + "/readyz"))
	if err != nil {
		t.Fatal(err)
	}
	var readiness Readiness
	if err := json.Unmarshal([]byte(body), &readiness); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return status, readiness
}

func (r running) until(t *testing.T, what string, ok func(status int, services map[string]ServiceStatus) bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		status, readiness := r.ready(t)
		services := map[string]ServiceStatus{}
		for _, p := range readiness.Services {
			services[p.Name] = p
		}
		if ok(status, services) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to %s: %d, %+v", what, status, services)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func isReady(status int, _ map[string]ServiceStatus) bool { return status == http.StatusOK }

func (r running) send(t *testing.T, prefix string, n int) {
	t.Helper()
	var batch []string
	for i := range n {
		batch = append(batch, fmt.Sprintf(`{"specversion":"1.0","id":"%s-%d","source":"/engine",`+
			`"type":"hooktrail.custom","runid":"r1","time":"2026-01-01T00:00:00Z","data":{"name":"n"}}`, prefix, i))
	}
	status, body, err := ask(http.Post(r.HTTP+"/v1/events", "application/cloudevents-batch+json",
		strings.NewReader("["+strings.Join(batch, ",")+"]")))
	if err != nil || status != http.StatusAccepted {
		t.Fatalf("got %d, %v: %s", status, err, body)
	}
}

func reportOf(t *testing.T, dir string) (path string, r verifier.Report) {
	t.Helper()
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if path, err = ledger.Path(auditor.LedgerDir(dir), "default"); err != nil {
		t.Fatal(err)
	}
	if r, err = verifier.Verify(t.Context(), path, verifier.Options{Key: key}); err != nil {
		t.Fatal(err)
	}
	return path, r
}

func verify(t *testing.T, dir string) int {
	t.Helper()
	path, report := reportOf(t, dir)
	if report.Exit != verifier.ExitVerified {
		t.Errorf("got %s and %s: %v %v", report.Integrity, report.Completeness, report.Problems, report.Gaps)
	}
	r, err := ledger.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Summary(t.Context(), "r1")
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return s.Kinds["custom"]
}

// If up is stopped right after the last event, the ledger still gets all events.
//
//guarantee:up-stops
func TestRun_DrainsWhatItTook(t *testing.T) {
	dir := t.TempDir()
	const n = 500
	for start := range 3 {
		r := startUp(t, dir)
		r.until(t, "ready", isReady)
		r.send(t, fmt.Sprint(start), n)
		r.stop()
		if got, want := verify(t, dir), (start+1)*n; got != want {
			t.Fatalf("got %d events in the ledger after stop %d, want %d", got, start+1, want)
		}
	}
}

// All services announce the heartbeat that up was given.
func TestRun_Heartbeat(t *testing.T) {
	dir := t.TempDir()
	r := startUp(t, dir, func(o *Options) { o.Heartbeat = 7 * time.Second })
	r.until(t, "ready", isReady)
	status, body, err := ask(http.Post(r.HTTP+"/v1/events", "application/cloudevents+json", strings.NewReader(
		`{"specversion":"1.0","id":"f","source":"/engine","type":"hooktrail.run.finished","subject":"r1","runid":"r1",`+
			`"time":"2026-01-01T00:00:00Z","data":{"success":false,"error":{"message":"no space left"}}}`)))
	if err != nil || status != http.StatusAccepted {
		t.Fatalf("got %d, %v: %s", status, err, body)
	}
	if _, err := access.Record(t.Context(), dir, "default", events.AuditAccessedData{Action: events.AuditReplay}); err != nil {
		t.Fatal(err)
	}
	var producers []verifier.Producer
	r.until(t, "three producers in the ledger", func(int, map[string]ServiceStatus) bool {
		if all, err := filepath.Glob(filepath.Join(auditor.LedgerDir(dir), "default", "*.db")); err != nil || len(all) == 0 {
			return false
		}
		_, report := reportOf(t, dir)
		producers = report.Producers
		return len(producers) == 3
	})
	for _, p := range producers {
		if p.Interval != 7 {
			t.Errorf("producer %s: heartbeat every %d s, want 7", p.Name, p.Interval)
		}
	}
}

// A failed tracker does not affect the other services, and restarts.
//
//guarantee:service-fails
func TestRun_ServiceFails(t *testing.T) {
	dir := t.TempDir()
	obstacle := filepath.Join(dir, "tracker")
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil { // where its folder should be
		t.Fatal(err)
	}
	r := startUp(t, dir)
	r.until(t, "a failing tracker among running services", func(status int, services map[string]ServiceStatus) bool {
		return status == http.StatusServiceUnavailable && services[trackerName].State == Waiting &&
			services[trackerName].Error != "" && services[auditorName].State == Running &&
			services[metricsName].State == Running && services[publisherName].State == Running
	})
	if status, _, err := ask(http.Get(r.HTTP + "/livez")); err != nil || status != http.StatusOK {
		t.Errorf("livez answers %d, %v", status, err)
	}
	r.send(t, "broken", 10)
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	r.until(t, "ready", isReady)
	r.stop()
	if got := verify(t, dir); got != 10 {
		t.Errorf("got %d events in the ledger, want 10", got)
	}
}

// A drain that exceeds its deadline is a clean stop.
//
//guarantee:up-stops
func TestRun_DrainIsBounded(t *testing.T) {
	dir := t.TempDir()
	r := startUp(t, dir, func(o *Options) { o.DrainTimeout = time.Nanosecond })
	r.until(t, "ready", isReady)
	r.send(t, "x", 100)
	r.stop()
	again := startUp(t, dir)
	again.until(t, "ready", isReady)
	again.stop()
	if got := verify(t, dir); got != 100 {
		t.Errorf("got %d events in the ledger after the next start, want 100", got)
	}
}

func TestRun_CannotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		opts Options
		want string
	}{
		{"AddressTaken", Options{DataDir: t.TempDir(), HTTPListen: taken.Addr().String()}, "--http-listen takes another address"},
		{"NoFolder", Options{DataDir: file, HTTPListen: "127.0.0.1:0"}, "not a directory"},
		{"NATSNotOnLoopback", Options{DataDir: t.TempDir(), HTTPListen: "127.0.0.1:0", NATSListen: "0.0.0.0:0"}, "127.0.0.1 only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Logger = slog.New(slog.DiscardHandler)
			err := Run(t.Context(), tt.opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// A second Run in the same data directory ends at once, and names the process that serves it.
//
//guarantee:up-twice
func TestRun_Twice(t *testing.T) {
	dir := t.TempDir()
	first := startUp(t, dir)
	first.until(t, "ready", isReady)
	began := time.Now()
	err := Run(t.Context(), Options{DataDir: dir, HTTPListen: "127.0.0.1:0", DrainTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	if want := fmt.Sprintf("process %d at http://127.0.0.1:", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	first.stop()
	again := startUp(t, dir)
	again.until(t, "ready", isReady)
	again.stop()
}

func TestGate(t *testing.T) {
	var g gate
	get := func() int {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/events", nil))
		return w.Code
	}
	if got := get(); got != http.StatusServiceUnavailable {
		t.Errorf("closed: got %d", got)
	}
	g.open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }), func() error { return nil })
	if got := get(); got != http.StatusAccepted || g.draining() {
		t.Errorf("open: got %d, draining %v", got, g.draining())
	}
	deadline := time.Now().Add(time.Hour)
	g.drain(deadline)
	if got := g.close(); !got.Equal(deadline) || !g.draining() {
		t.Errorf("got deadline %v, want %v", got, deadline)
	}
	if got := get(); got != http.StatusServiceUnavailable {
		t.Errorf("shut: got %d", got)
	}
}

func ask(r *http.Response, err error) (int, string, error) {
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return r.StatusCode, string(body), err
}
