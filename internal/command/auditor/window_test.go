package auditor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// backdated has a run whose events say that they are from January 2020.
func backdated(tb testing.TB) (dir string) {
	tb.Helper()
	b, dir := auditortest.Connect(tb, auditortest.Server(tb)), tb.TempDir()
	p := auditortest.Outbox(tb, b, "coder", "acme")
	for i, kind := range []events.Kind{events.RunStarted, events.RunFinished} {
		e, err := events.New(kind, "/test", map[string]any{"title": "old", "success": true})
		if err != nil {
			tb.Fatal(err)
		}
		e.Run, e.Time = "old", time.Date(2020, 1, 2, 3, 4, i, 0, time.UTC)
		if _, err := p.Append(tb.Context(), e); err != nil {
			tb.Fatal(err)
		}
	}
	auditortest.PublishRun(tb, p, "new", 3)
	drain(tb, b, dir)
	return dir
}

// An export of a time has the records that the server stored in it, like verify and report.
//
//guarantee:export-time
func TestExport_StoredTime(t *testing.T) {
	dir := backdated(t)
	leaves := auditortest.Verify(t, dir, "acme").Leaves
	at := []string{"export", "--data-dir", dir, "--tenant", "acme", "--from", time.Now().Add(-time.Hour).Format(time.RFC3339)}
	for _, format := range []string{"jsonl", "ocsf", "csv"} {
		want := leaves
		if format == "csv" {
			want++
		}
		if status, out := command(t, append(at, "--format", format)...); status != 0 || int64(strings.Count(out, "\n")) != want {
			t.Errorf("%s: status %d, %d lines, want %d", format, status, strings.Count(out, "\n"), want)
		}
	}
	if status, _, errs := commandBoth(t, "export", "--data-dir", dir, "--tenant", "acme", "--to", "2020-02-01", "--format", "jsonl"); status != 1 || !strings.Contains(errs, "no records") {
		t.Errorf("of January: status %d: %s", status, errs)
	}
	if status, out := command(t, "replay", "--data-dir", dir, "--tenant", "acme", "--to", "2020-02-01"); status != 0 || strings.Count(out, "\n") != 2 {
		t.Errorf("replay of January: status %d: %s", status, out)
	}
	zip := filepath.Join(t.TempDir(), "day.zip")
	checkStatus(t, 0, append(at, "--out", zip))
	checkStatus(t, verifier.ExitVerified, []string{"verify", "--data-dir", dir, zip},
		": "+strconv.FormatInt(leaves, 10)+" of the ledger's "+strconv.FormatInt(leaves, 10)+" leaves", "Completeness: COMPLETE", "Enrolled:     0 of 1")
	// The events of a producer are those of all runs, so they are not in the line about one run.
	of := filepath.Join(t.TempDir(), "run.zip")
	checkStatus(t, 0, []string{"export", "--data-dir", dir, "--tenant", "acme", "--run", "new", "--out", of})
	checkStatus(t, verifier.ExitVerified, []string{"verify", "--data-dir", dir, of},
		" of the ledger's "+strconv.FormatInt(leaves, 10)+" leaves\n", "Completeness: COMPLETE     1 producer, 1 run sealed\n")
	unsigned := filepath.Join(t.TempDir(), "unsigned.zip")
	checkStatus(t, 0, append(at, "--unsigned", "--out", unsigned))
	checkStatus(t, verifier.ExitIncomplete, []string{"verify", "--data-dir", dir, unsigned}, "UNPROVEN     the ledger's key did not sign a verdict about that time")
}

// A bundle of an altered ledger is never written without status 40, whoever would sign it.
//
//guarantee:verify-bundle-selection
func TestExport_InvalidLedger(t *testing.T) {
	for name, statement := range map[string]string{
		"Signature":   "UPDATE checkpoints SET note = substr(note, 1, length(note) - 9) || 'AAAAAAAA' || char(10)",
		"Checkpoint":  "UPDATE checkpoints SET note = 'x'",
		"Checkpoints": "DELETE FROM checkpoints",
		"LastLeaf":    "DELETE FROM leaves WHERE leaf = (SELECT max(leaf) FROM leaves)",
		"FirstRecord": "DELETE FROM payloads WHERE leaf = 0",
		"Tree":        "UPDATE hashes SET bytes = zeroblob(length(bytes))",
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := backdated(t), t.TempDir()
			edit(t, dir, statement)
			public, file := filepath.Join(auditor.KeyDir(dir), "ledger.pub"), auditortest.LedgerFile(t, dir, "acme")
			for way, args := range map[string][]string{
				"all": {"--data-dir", dir}, "run": {"--data-dir", dir, "--run", "new"}, "unsigned": {"--data-dir", dir, "--unsigned"},
				"elsewhere": {"--data-dir", t.TempDir(), "--ledger", file, "--key", public},
			} {
				args = append([]string{"export", "--tenant", "acme", "--out", filepath.Join(out, way)}, args...)
				if status, _, errs := commandBoth(t, args...); status != verifier.ExitInvalid {
					t.Errorf("%s: status %d: %s", way, status, errs)
				}
			}
		})
	}
}

// verify exits with 11 if nothing arrived for longer than --max-age.
//
//guarantee:verify-max-age
func TestVerify_MaxAge(t *testing.T) {
	dir := backdated(t)
	in := []string{"--data-dir", dir, "--tenant", "acme"}
	for _, age := range []string{"1h", "1h30m", "1d", "2w", "1y"} {
		checkStatus(t, verifier.ExitVerified, append([]string{"verify", "--max-age", age}, in...), "s ago), stream position")
	}
	for _, name := range []string{"verify", "coverage"} {
		checkStatus(t, verifier.ExitIncomplete, append([]string{name, "--max-age", "1ns"}, in...), "UNPROVEN", "too old: the newest record was stored")
	}
	status, out, errs := commandBoth(t, append([]string{"report", "--max-age", "1ns"}, append(in, today...)...)...)
	if status != verifier.ExitIncomplete || !strings.Contains(errs, "too old") || strings.Contains(out, "too old") || !strings.Contains(out, "\nexit 0\n") {
		t.Errorf("report: status %d: %s%s", status, out, errs)
	}
	for _, age := range []string{"0s", "-1h"} {
		checkStatus(t, 2, append([]string{"verify", "--max-age", age}, in...), "--max-age")
	}
}

// A report and coverage can leave acknowledged findings out of their status.
//
//guarantee:acknowledged
func TestReport_Acknowledged(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	auditortest.DeleteMessage(t, b, 3)
	drain(t, b, dir)
	in := []string{"--data-dir", dir, "--tenant", "acme"}
	file := filepath.Join(t.TempDir(), "before.txt")
	checkStatus(t, verifier.ExitIncomplete, append(append([]string{"report", "--allow-acknowledged", "--out", file}, in...), today...))
	id := report(t, verifier.ExitIncomplete, "--data-dir", dir).Matters[0].ID
	checkStatus(t, 0, append([]string{"acknowledge", id, "--reason", "a test", "--by", "jdoe", "--nats-url", b.Conn().ConnectedUrl()}, in...))
	drain(t, b, dir)

	checkStatus(t, verifier.ExitIncomplete, append(append([]string{"report"}, in...), today...), "Acknowledged: 1 finding\n")
	checkStatus(t, verifier.ExitIncomplete, append([]string{"coverage"}, in...), "Acknowledged: 1 finding\n")
	checkStatus(t, verifier.ExitVerified, append([]string{"coverage", "--allow-acknowledged"}, in...), "Acknowledged: 1 finding, which")
	file = filepath.Join(t.TempDir(), "after.txt")
	checkStatus(t, verifier.ExitVerified, append(append([]string{"report", "--allow-acknowledged", "--out", file}, in...), today...))
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "\nallow acknowledged\nexit 0\n") || !strings.Contains(string(text), "1 finding, which the exit status is without") {
		t.Errorf("%v, %s", err, text)
	}
	checkStatus(t, verifier.ExitVerified, []string{"verify", "--data-dir", dir, "--report", file}, "SAME")
}

// Without a key the signature of a report cannot be checked, which is no error.
//
//guarantee:report
func TestReport_WithoutKey(t *testing.T) {
	dir, file := backdated(t), filepath.Join(t.TempDir(), "r.txt")
	checkStatus(t, verifier.ExitVerified, append([]string{"report", "--data-dir", dir, "--tenant", "acme", "--out", file}, today...))
	checkStatus(t, verifier.ExitUnanchored, []string{"verify", "--data-dir", t.TempDir(), "--known-ledgers", filepath.Join(t.TempDir(), "none"), "--report", file},
		"NOT CHECKED", "name one with --key")
}
