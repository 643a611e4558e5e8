package auditor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/daily"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A running auditor makes up for missed days. A folder that it cannot write to does not stop
// the ledger.
//
//guarantee:report-daily
func TestRun_DailyReports(t *testing.T) {
	b, dir, out := auditortest.Connect(t, auditortest.Server(t)), t.TempDir(), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 3)
	tomorrow := time.Now().UTC().Truncate(oneDay).Add(oneDay + time.Hour)
	made := func(days int) string {
		return filepath.Join(out, "acme", tomorrow.Add(time.Duration(-days)*oneDay).Format(time.DateOnly))
	}
	file, ready := filepath.Join(t.TempDir(), "file"), t.TempDir()
	err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, filepath.Join(out, "acme")))
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	ctx, cancel := context.WithCancel(auditortest.Deadline(t))
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			Broker: b, DataDir: dir, Now: func() time.Time { return tomorrow },
			Reports: Reports{Dir: out, At: time.Hour, Text: func(daily.Report) string { return "text\n" }},
			tick:    func() <-chan time.Time { return ticks },

			Heartbeat: 30 * oneDay, // the clock is ahead of the outbox
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	auditortest.Until(t, "the ledger", func() bool { _, err := os.Stat(auditortest.LedgerFile(t, dir, "acme")); return err == nil })
	ticks <- time.Time{}
	auditortest.PublishRun(t, p, "r2", 3)
	ticks <- time.Time{}
	// The auditor was down for two days, and the folder is writable again.
	if err := errors.Join(
		os.WriteFile(filepath.Join(ready, filepath.Base(made(4))+".txt"), nil, 0o600),
		os.Symlink(ready, filepath.Join(out, "ready")),
		os.Rename(filepath.Join(out, "ready"), filepath.Join(out, "acme")),
	); err != nil {
		t.Fatal(err)
	}
	auditortest.Until(t, "the report of today", func() bool {
		select {
		case ticks <- time.Time{}:
		case <-time.After(5 * time.Millisecond):
		}
		_, err := os.Stat(made(1) + ".txt")
		return err == nil
	})
	want := map[int]verifier.Completeness{3: verifier.Empty, 2: verifier.Empty, 1: verifier.Complete}
	for days, completeness := range want {
		checkReport(t, dir, made(days)+".txt", completeness)
		checkReport(t, dir, made(days)+".json", completeness)
	}
	recorded := 0
	for _, a := range accesses(t, dir, "acme") {
		if a.Action == events.AuditReport && a.Selection.From != nil {
			recorded++
		}
	}
	if recorded != len(want) {
		t.Errorf("%d reports are on record, want %d", recorded, len(want))
	}
}

func checkReport(tb testing.TB, dir, file string, want verifier.Completeness) {
	tb.Helper()
	key, _, err := ledger.ReadVerifier(KeyDir(dir))
	if err != nil {
		tb.Fatal(err)
	}
	f, err := daily.Parse(auditortest.ReadFile(tb, file))
	if err != nil {
		tb.Fatal(err)
	}
	s, signed, err := f.Check(note.VerifierList(key), func(daily.Report) string { return "" })
	if err != nil || !signed || s.Completeness != want || s.Tenant() != "acme" || s.Integrity != verifier.Verified {
		tb.Errorf("%s: got %+v, signed %v, %v", file, s, signed, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		tb.Errorf("%s: mode %v, %v", file, info.Mode(), err)
	}
}

func TestMissingDays(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 20, 0, 10, 0, 0, time.UTC)
	for _, tt := range []struct {
		file string
		now  time.Time
		want []string
	}{
		{"", now.Add(-15 * time.Minute), []string{"2026-11-18"}},
		{"", now, []string{"2026-11-19"}},
		{"2026-11-16.txt", now, []string{"2026-11-17", "2026-11-18", "2026-11-19"}},
		{"2026-11-18.json", now, []string{"2026-11-17", "2026-11-18", "2026-11-19"}},
		{".new-123.txt", now, []string{"2026-11-17", "2026-11-18", "2026-11-19"}},
		{"2026-11-19.txt", now, nil},
		{"2026-11-21.txt", now, nil},
	} {
		if tt.file != "" {
			if err := os.WriteFile(filepath.Join(dir, tt.file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		days, err := missingDays(dir, tt.now)
		var got []string
		for _, d := range days {
			got = append(got, d.Format(time.DateOnly))
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("with %s: got %v, %v, want %v", tt.file, got, err, tt.want)
		}
	}
	if days, err := missingDays(dir, now.AddDate(5, 0, 0)); err != nil || len(days) != maxMissed+1 {
		t.Errorf("after years: %d days, %v", len(days), err)
	}
}
