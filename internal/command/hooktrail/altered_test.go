package hooktrail

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func ledgerOf(t *testing.T, f *ledgertest.Feed, statements ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key, err := writer.OpenKey(auditor.KeyDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	path := ledgertest.Write(t, auditor.LedgerDir(dir), key, f, 40)
	to, ok := ledgertest.Attack(t, path, statements...)
	if !ok {
		t.Fatal("SQLite refused the attack")
	}
	data, err := os.ReadFile(to)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func runShow(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := Command()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(t.Context(), cmd, append([]string{"run", "show", "r1", "--data-dir", dir, "--tenant", "acme"}, args...))
	return status, out.String(), errs.String()
}

//guarantee:readers-check
func TestRunShow_MarksAlteredRecords(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Run("p", "r1", 3)
	id := f.Messages[3].Data
	for name, statement := range map[string]string{
		"OneByte":    `UPDATE payloads SET bytes = CAST(replace(bytes, 'echo 1', 'echo 7') AS BLOB) WHERE leaf = 3`,
		"Unreadable": `UPDATE payloads SET bytes = CAST('x' AS BLOB) WHERE leaf = 3`,
		"Missing":    `DELETE FROM payloads WHERE leaf = 3`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := ledgerOf(t, f, statement)
			status, out, errs := runShow(t, dir)
			if status != verifier.ExitInvalid || !strings.Contains(out, "ALTERED leaf 3, tool.before") ||
				!strings.Contains(out, "was altered in the ledger") || !strings.Contains(errs, "altered") {
				t.Errorf("status %d, said %q:\n%s", status, errs, out)
			}
			status, out, _ = runShow(t, dir, "--json")
			var trace runtree.Trace
			if err := json.Unmarshal([]byte(out), &trace); err != nil {
				t.Fatal(err)
			}
			marked := 0
			for _, s := range trace.Steps {
				for _, r := range s.Rows {
					if r.Altered {
						marked++
					}
				}
			}
			if status != verifier.ExitInvalid || len(trace.Altered) != 1 || trace.Altered[0].Leaf != 3 || marked == 0 ||
				!bytes.Contains(id, []byte(trace.Altered[0].ID)) {
				t.Errorf("status %d, %d rows marked, altered %+v", status, marked, trace.Altered)
			}
			if status, _, errs := runShow(t, dir, "--points"); status != verifier.ExitInvalid || !strings.Contains(errs, "leaf 3") {
				t.Errorf("--points: status %d, said %q", status, errs)
			}
		})
	}
}

//guarantee:denied-result
func TestRunShow_MarksResultsOfDeniedCalls(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Event("p", "r1", events.ToolBefore, events.ToolBeforeData{
		Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "no"},
	})
	f.Event("q", "r1", events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess})
	dir := ledgerOf(t, f)
	status, out, errs := runShow(t, dir)
	if status != verifier.ExitContradicts || !strings.Contains(out, "    ! Bash") || strings.Contains(out, "✓ Bash") ||
		!strings.Contains(out, "has a successful result") || !strings.Contains(errs, "1 denied call") {
		t.Errorf("status %d, said %q:\n%s", status, errs, out)
	}
	status, out, _ = runShow(t, dir, "--json")
	if status != verifier.ExitContradicts || !strings.Contains(out, `"denied_result": true`) {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// A missing leaf is noticed also if the ledger is not verified.
//
//guarantee:readers-check
func TestRunShow_RowsRemovedUnverified(t *testing.T) {
	f := began()
	f.Event("p", "r1", events.RunFinished, events.RunFinishedData{Success: true})
	dir := ledgerOf(t, f, "DELETE FROM leaves WHERE leaf = 1", "DELETE FROM payloads WHERE leaf = 1")
	if err := os.Remove(filepath.Join(auditor.KeyDir(dir), ledger.VerifierFile)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--points"}} {
		status, out, errs := runShow(t, dir, args...)
		if status != verifier.ExitInvalid || !strings.Contains(out, "leaf 1: it is missing") {
			t.Errorf("%v: status %d, said %q:\n%s", args, status, errs, out)
		}
	}
}

// A person with write access to the ledger's file removes the rows of a denied call.
//
//guarantee:readers-check
func TestRunShow_RowsRemoved(t *testing.T) {
	f := began()
	f.Event("p", "r1", events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "no"}})
	f.Event("p", "r1", events.RunFinished, events.RunFinishedData{Success: true})
	f.Seal("p", "r1")
	f.Manifest("p")
	for name, statements := range map[string][]string{
		"Deleted":     {"DELETE FROM leaves WHERE leaf = 2", "DELETE FROM payloads WHERE leaf = 2"},
		"OtherRun":    {"INSERT INTO runs VALUES (2, 'other')", "UPDATE leaves SET run = 2 WHERE leaf = 2"},
		"Quarantined": {"UPDATE leaves SET class = 'quarantine', finding = 'undecodable' WHERE leaf = 2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ledgerOf(t, f, statements...)
			for _, args := range [][]string{nil, {"--points"}} {
				status, out, errs := runShow(t, dir, args...)
				if status != verifier.ExitInvalid || !strings.HasPrefix(out, "INVALID ledger, so records of this run can be missing: ") ||
					!strings.Contains(errs, "auditor verify shows the damage") {
					t.Errorf("%v: status %d, said %q:\n%s", args, status, errs, out)
				}
			}
			status, out, _ := runShow(t, dir, "--json")
			var got struct {
				Run, Integrity string
				Problems       []string
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != verifier.ExitInvalid || got.Run != "r1" || got.Integrity != "INVALID" || len(got.Problems) == 0 {
				t.Errorf("status %d, %v, got %+v", status, err, got)
			}
		})
	}
}

// A list goes on behind an altered record, marks its run, and exits with 40.
//
//guarantee:readers-check
func TestRunList_Altered(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	for _, run := range []string{"r1", "r2", "r3"} {
		f.Run("p", run, 2)
	}
	at := 0 // the first call of r2
	for i, m := range f.Messages {
		if m.Address.Run == "r2" && m.Address.Kind == events.ToolBefore {
			at = i
			break
		}
	}
	for name, statement := range map[string]string{
		"OneByte":    `UPDATE payloads SET bytes = CAST(replace(bytes, 'echo 0', 'echo 7') AS BLOB) WHERE leaf = %d`,
		"Unreadable": `UPDATE payloads SET bytes = CAST('x' AS BLOB) WHERE leaf = %d`,
		"Missing":    `DELETE FROM payloads WHERE leaf = %d`,
		"Time":       `UPDATE leaves SET time = 'never' WHERE leaf = %d - 1`,
	} {
		dir := ledgerOf(t, f, fmt.Sprintf(statement, at))
		for _, filter := range [][]string{nil, {"--tool", "Bash"}, {"--from", "2026-11-20", "--state", "completed"}} {
			status, out, errs := execute(Command(), append([]string{"run", "list", "--data-dir", dir, "--tenant", "acme"}, filter...)...)
			if status != verifier.ExitInvalid || !strings.Contains(errs, `run "r2"`) || strings.Count(out, " completed ") != 2 || strings.Count(out, " ALTERED ") != 1 {
				t.Errorf("%s %v: status %d, said %q:\n%s", name, filter, status, errs, out)
			}
		}
		status, out, _ := execute(Command(), "run", "list", "--data-dir", dir, "--tenant", "acme", "--json")
		var list []ledger.RunSummary
		if err := json.Unmarshal([]byte(out), &list); err != nil || status != verifier.ExitInvalid || len(list) != 3 {
			t.Fatalf("%s: status %d, %v:\n%s", name, status, err, out)
		}
		for _, s := range list {
			if (s.Altered > 0) != (s.Run == "r2") {
				t.Errorf("%s: run %s has %d altered records", name, s.Run, s.Altered)
			}
		}
	}
}
