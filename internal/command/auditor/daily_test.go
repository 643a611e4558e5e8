package auditor

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/daily"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var today = []string{"--from", "2020-01-01", "--to", "2100-01-01"} //nolint:gochecknoglobals // a constant

func reportable(tb testing.TB) (*broker.Broker, string) {
	tb.Helper()
	b, dir := auditortest.Connect(tb, auditortest.Server(tb)), tb.TempDir()
	p := auditortest.Outbox(tb, b, "coder", "acme")
	auditortest.AppendEvent(tb, p, "— hooktrail AAAA", events.ToolBefore, "c1", events.ToolBeforeData{
		Tool: "Bash\x1b[2J\n\n", Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "no"},
	})
	auditortest.PublishRun(tb, p, "r2", 5)
	if _, err := access.Record(tb.Context(), dir, "acme", events.AuditAccessedData{
		Action: events.AuditReplay, By: "jdoe\u202e", Reason: "a\n\n— hooktrail BBBB\nb", Ticket: "T-1",
	}); err != nil {
		tb.Fatal(err)
	}
	drain(tb, b, dir)
	return b, dir
}

func reported(tb testing.TB, want int, dir string, args ...string) (out string) {
	tb.Helper()
	args = append([]string{"report", "--data-dir", dir, "--tenant", "acme", "--silence", "1ns"}, args...)
	status, out, errs := commandBoth(tb, append(args, today...)...)
	if status != want {
		tb.Fatalf("report: status %d, want %d: %s%s", status, want, out, errs)
	}
	return out
}

// Reports of the same range are identical, and the signature covers both text and JSON.
//
//guarantee:report
func TestReport_Signed(t *testing.T) {
	_, dir := reportable(t)
	text := reported(t, verifier.ExitIncomplete, dir) // a run is not sealed
	if again := reported(t, verifier.ExitIncomplete, dir); again != text {
		t.Errorf("the second report differs:\n%s", again)
	}
	for _, want := range []string{
		"hooktrail/report/v1\norigin hooktrail/acme\ntree ", "Refused:      1 call or action denied", "tool.before                 6",
		`jdoe\u202e`, "replay, everything (T-1 a  — hooktrail BBBB b)", "Finished:     1 run succeeded, 0 failed", "Holds:        0 in force",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e") || strings.Count(text, "\n— ") != 1 {
		t.Errorf("the report has the text of an agent as it came:\n%q", text)
	}
	out, public := t.TempDir(), filepath.Join(auditor.KeyDir(dir), "ledger.pub")
	document := reported(t, verifier.ExitIncomplete, dir, "--json")
	for _, tt := range []struct {
		name, content string
		want          int
		says          string
	}{
		{"text", text, verifier.ExitIncomplete, "SIGNED       by key"},
		{"json", document, verifier.ExitIncomplete, "SIGNED       by key"},
		{"compact", compact(t, document), verifier.ExitIncomplete, "SIGNED       by key"},
		{"edited text", strings.Replace(text, "Refused:      1 ", "Refused:      0 ", 1), verifier.ExitInvalid, "altered after it was signed"},
		{"edited verdict", strings.Replace(text, "\nexit 11\n", "\nexit 0\n", 1), verifier.ExitInvalid, "altered after it was signed"},
		{"edited json", strings.Replace(document, `"denied_count": 1`, `"denied_count": 0`, 1), verifier.ExitInvalid, "its JSON is not the one"},
		{"cut", text[:strings.Index(text, "\n— ")+1] + daily.UnsignedEnd[1:], verifier.ExitUnanchored, "NOT SIGNED"},
		{"not a report", "hello", 1, "neither the text nor the JSON"},
	} {
		file := filepath.Join(out, tt.name)
		if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		status, got, errs := commandBoth(t, "verify", "--data-dir", out, "--report", file, "--key", public)
		if status != tt.want || !strings.Contains(got+errs, tt.says) {
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", tt.name, status, tt.want, tt.says, got, errs)
		}
	}
}

func compact(tb testing.TB, text string) string {
	tb.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// verify compares a report with the ledger if it has one.
//
//guarantee:report-compared
func TestReport_Compared(t *testing.T) {
	b, dir := reportable(t)
	out := t.TempDir()
	file, unsigned := filepath.Join(out, "r.txt"), filepath.Join(out, "u.json")
	reported(t, verifier.ExitIncomplete, dir, "--out", file)
	reported(t, verifier.ExitIncomplete, dir, "--out", unsigned, "--json", "--unsigned")
	checked := func(name string, want int, says ...string) {
		t.Helper()
		status, got, errs := commandBoth(t, "verify", "--data-dir", dir, "--report", name)
		for _, w := range says {
			if status != want || !strings.Contains(got+errs, w) {
				t.Errorf("status %d, want %d and %q:\n%s%s", status, want, w, got, errs)
			}
		}
	}
	checked(file, verifier.ExitIncomplete, "SIGNED", "SAME         the ledger yields exactly this report", "PINNED")
	checked(unsigned, verifier.ExitIncomplete, "NOT SIGNED", "SAME", "PINNED")
	drain(t, b, dir) // records the use by the reports
	checked(file, verifier.ExitIncomplete, "GROWN", "PINNED")
	checked(unsigned, verifier.ExitUnanchored, "NOT SIGNED", "GROWN", "NONE")

	edit(t, dir, "UPDATE leaves SET stored = stored + 1 WHERE leaf = 3")
	checked(file, verifier.ExitInvalid, "INVALID", "altered after the report")
	if text := reported(t, verifier.ExitInvalid, dir); !strings.Contains(text, "\nexit 40\n") || !strings.Contains(text, "not counted") {
		t.Errorf("the report of an edited ledger:\n%s", text)
	}
}

// A ledger with another history does not match the report.
//
//guarantee:report-compared
func TestReport_OtherHistory(t *testing.T) {
	_, dir := reportable(t)
	file := filepath.Join(t.TempDir(), "r.json")
	reported(t, verifier.ExitIncomplete, dir, "--out", file, "--json")
	ledgerFile := auditortest.LedgerFile(t, dir, "acme")
	for _, f := range []string{ledgerFile, ledgerFile + "-wal", ledgerFile + "-shm", filepath.Join(dir, "ledger", "auditor.db")} {
		if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
	other := auditortest.Connect(t, auditortest.Server(t))
	auditortest.PublishRun(t, auditortest.Outbox(t, other, "coder", "acme"), "r9", 30)
	drain(t, other, dir)
	status, got, errs := commandBoth(t, "verify", "--data-dir", dir, "--report", file)
	if status != verifier.ExitDiverged || !strings.Contains(got, "DIVERGED") {
		t.Errorf("status %d: %s%s", status, got, errs)
	}
}

// Making a report is recorded. A day without records is EMPTY, which is no alarm.
//
//guarantee:report
func TestReport_IsRecorded(t *testing.T) {
	b, dir := reportable(t)
	file := filepath.Join(t.TempDir(), "r.txt")
	in := []string{"report", "--data-dir", dir, "--tenant", "acme"}
	if status, _ := command(t, append(in, "--reason", "daily", "--day", "2020-02-29", "--out", file)...); status != verifier.ExitVerified {
		t.Errorf("a day without records: status %d", status)
	}
	if text, err := os.ReadFile(file); err != nil || !bytes.Contains(text, []byte("\ncompleteness EMPTY\n")) ||
		!bytes.Contains(text, []byte("2020-02-29 (UTC)")) {
		t.Errorf("got %s, %v", text, err)
	}
	for _, args := range [][]string{
		{"--day", "yesterday"}, {"--from", "2020-01-01"}, {"--day", "2020-01-01", "--from", "2020-01-01"}, {"--from", "2020-01-02", "--to", "2020-01-01"},
	} {
		if status, _ := command(t, append(in, args...)...); status == 0 {
			t.Errorf("%v was accepted", args)
		}
	}
	drain(t, b, dir)
	_, list := command(t, "access", "--data-dir", dir, "--tenant", "acme", "--action", "report")
	if !strings.Contains(list, "from 2020-02-29T00:00:00Z, to 2020-03-01T00:00:00Z") || !strings.Contains(list, "daily") {
		t.Errorf("on record:\n%s", list)
	}
}

func TestReport_Yesterday(t *testing.T) {
	chosen, err := dailyFlags{}.period(time.Date(2026, 11, 20, 23, 59, 0, 0, time.FixedZone("west", -5*3600)))
	if err != nil || chosen.From.Format(time.RFC3339) != "2026-11-20T00:00:00Z" || chosen.To.Sub(chosen.From) != day {
		t.Errorf("got %+v, %v", chosen, err)
	}
}
