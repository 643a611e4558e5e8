package gauntlet

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/coverage"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// TestMillion logs the time and the peak memory for a ledger of HOOKTRAIL_GAUNTLET_EVENTS events of
// about a kilobyte each. The default is small and only tests the measurement.
//
//	HOOKTRAIL_GAUNTLET_EVENTS=1000000 go test ./internal/testkit/gauntlet -run TestMillion -v -timeout 1h
func TestMillion(t *testing.T) {
	text := os.Getenv("HOOKTRAIL_GAUNTLET_EVENTS")
	if text == "" {
		text = "5000"
	}
	want, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HOOKTRAIL_GAUNTLET_EVENTS: %v", err)
	}
	k, dir := openKey(t, t.TempDir()), t.TempDir()
	var path string
	measure(t, "append", want, func() { path = appendMany(t, k, dir, want) })
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("file: %d MB", info.Size()>>20)
	var report verifier.Report
	measure(t, "verify", want, func() {
		if report = verify(t, path, tenant, k, nil); report.Exit != verifier.ExitVerified || report.Events < int64(want) {
			t.Fatalf("got %+v", report)
		}
	})
	if v := pyverify.Start(t); v != nil && want <= 100_000 { // it holds the ledger in memory
		measure(t, "second", want, func() { v.Compare(t, pyverify.Request{Path: path, Key: k.Public(), Tenant: tenant}, report) })
	}
	r, done := reader(t, path)
	defer done()
	measure(t, "coverage", want, func() {
		if _, err := coverage.Of(t.Context(), r, report, time.Time{}, report.Checkpoint.Time.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	})
	measure(t, "1000 proofs", 1000, func() {
		for i := range 1000 {
			if _, err := r.Tree().Prove(t.Context(), int64(i*(want/1000))); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, format := range []bundle.Format{bundle.JSONL, bundle.CSV, bundle.Parquet} {
		measure(t, string(format), want, func() {
			told := int64(0)
			progress := func(done, _ int64) { told = done }
			if err := bundle.WriteTable(t.Context(), io.Discard, r, format, bundle.Options{Progress: progress}); err != nil || told < int64(want) {
				t.Fatalf("told of %d: %v", told, err)
			}
		})
	}
	measure(t, "bundle", want, func() {
		f, err := os.Create(filepath.Join(dir, "bundle.zip"))
		if err != nil {
			t.Fatal(err)
		}
		if err := bundle.WriteBundle(t.Context(), f, r, bundle.Options{Key: k.Public()}); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func measure(t *testing.T, what string, n int, fn func()) {
	t.Helper()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets the peak if the system supports it
	start := time.Now()
	fn()
	took := time.Since(start)
	t.Logf("%-12s %8.2f s  %9.0f /s  at most %s", what, took.Seconds(), float64(n)/took.Seconds(), peak())
}

func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// appendMany writes a ledger of n events with one batch in memory, like the auditor.
func appendMany(t *testing.T, k *key, dir string, n int) string {
	t.Helper()
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	l, err := writer.Open(t.Context(), dir, tenant, writer.Options{Key: k.Key, CacheBytes: 64 << 20, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	w := &rewriter{tb: t, of: make(map[string]*chain)}
	stream := ledger.Stream{Epoch: 1, Created: now}
	filler := bytes.Repeat([]byte("x"), 560)
	sequence := uint64(0)
	for done := 0; done < n; {
		var batch []ledger.Message
		run := fmt.Sprint("run ", done)
		add := func(kind events.Kind, payload any) {
			e, err := events.New(kind, "/gauntlet", payload)
			if err != nil {
				t.Fatal(err)
			}
			sequence++
			now = now.Add(time.Millisecond)
			e.ID, e.Tenant, e.Producer, e.Run, e.Subject, e.Time = fmt.Sprint("event-", sequence), tenant, "coder", run, run, now
			e.Salt = "c2FsdHNhbHRzYWx0c2FsdA"
			batch = append(batch, ledger.Message{Sequence: sequence, Stored: now, Data: e.Encode(), Address: subjects.Address{
				Tenant: tenant, Producer: "coder", Run: run, Kind: kind,
			}})
			done++
		}
		add(events.RunStarted, events.RunStartedData{Title: "gauntlet"})
		for range 498 {
			add(events.Custom, events.CustomData{Name: string(filler)})
		}
		add(events.RunFinished, events.RunFinishedData{Success: true})
		add(events.RunSealed, events.RunSealedData{})
		sequence++
		batch = append(batch, ledger.Message{
			Sequence: sequence, Stored: now, Address: subjects.Address{Tenant: tenant, Producer: "coder", Manifest: true},
			Data: events.Manifest{Version: 1, Tenant: tenant, Producer: "coder"}.Encode(),
		})
		for i := range batch {
			batch[i].Data = w.message(batch[i])
		}
		if _, err := l.Append(t.Context(), stream, batch); err != nil {
			t.Fatal(err)
		}
	}
	return closed(t, l, dir)
}
