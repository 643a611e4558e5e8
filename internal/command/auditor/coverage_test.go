package auditor

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/coverage"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func covered(tb testing.TB, want int, args ...string) (c coverage.Report) {
	tb.Helper()
	status, out := command(tb, append([]string{"coverage", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &c); err != nil || status != want {
		tb.Fatalf("coverage: status %d, want %d: %v", status, want, err)
	}
	return c
}

func TestCoverage_Witnessed(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "engine", "acme"), "run-1", 3)
	drain(t, b, dir)
	cosigned := auditortest.Verify(t, dir, "acme").Checkpoint.Note + "— witness.example " + base64.StdEncoding.EncodeToString(make([]byte, 76)) + "\n"
	if err := ledger.WriteWitnessed(auditortest.LedgerFile(t, dir, "acme"), []byte(cosigned)); err != nil {
		t.Fatal(err)
	}
	in := []string{"--data-dir", dir, "--tenant", "acme"}
	c := covered(t, verifier.ExitVerified, in...)
	if c.Cosignatures != 1 || c.Witnessed == 0 || len(c.Hours) == 0 || !c.Hours[0].Witnessed {
		t.Errorf("got %+v, want all of it witnessed", c)
	}
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "engine2", "acme"), "run-2", 3)
	drain(t, b, dir)
	if c = covered(t, verifier.ExitVerified, in...); c.Hours[len(c.Hours)-1].Witnessed {
		t.Errorf("got %+v, want the end not to be witnessed", c)
	}
}

// total sums up hours, because the test may run across an hour's end.
func total(c coverage.Report) (sum coverage.Hour) {
	for _, h := range c.Hours {
		sum.Records, sum.Events, sum.Checkpoints = sum.Records+h.Records, sum.Events+h.Events, sum.Checkpoints+h.Checkpoints
		sum.Erased, sum.Pruned, sum.Held = sum.Erased+h.Erased, sum.Pruned+h.Pruned, sum.Held+h.Held
		sum.Sealed, sum.Unsealed, sum.Open = sum.Sealed+h.Sealed, sum.Unsealed+h.Unsealed, sum.Open+h.Open
		sum.Missing += h.Missing
		sum.Gaps, sum.Accesses = append(sum.Gaps, h.Gaps...), append(sum.Accesses, h.Accesses...)
	}
	return sum
}

// Coverage reports a sealed, an open and a silent run, a lost event, and each use.
//
//guarantee:coverage
func TestCoverage_TellsWhatWasCaptured(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	auditortest.PublishRun(t, p, "sealed", 3)
	auditortest.AppendEvent(t, p, "goes-on", events.RunStarted, "", events.RunStartedData{Title: "test"})
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	auditortest.DeleteMessage(t, b, 3)
	drain(t, b, dir)
	if _, err := access.Record(t.Context(), dir, "acme", events.AuditAccessedData{Action: events.AuditReplay, By: "jdoe"}); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	in := []string{"--data-dir", dir, "--tenant", "acme", "--by", "auditors"}

	c := covered(t, verifier.ExitIncomplete, in...)
	sum := total(c)
	if c.Integrity != verifier.Verified || c.Completeness != verifier.Gaps {
		t.Errorf("got %s and %s", c.Integrity, c.Completeness)
	}
	if sum.Sealed != 1 || sum.Open != 1 || sum.Unsealed != 0 || sum.Missing != 1 || len(sum.Gaps) == 0 || sum.Checkpoints == 0 {
		t.Errorf("got %+v, want a sealed run, an open one, and a missing event", sum)
	}
	if len(sum.Accesses) != 1 || sum.Accesses[0].By != "jdoe" || sum.Accesses[0].Action != events.AuditReplay {
		t.Errorf("used by %+v, want jdoe's replay", sum.Accesses)
	}
	// A short --silence ends the open run.
	if sum = total(covered(t, verifier.ExitIncomplete, append(in, "--silence", "1ns")...)); sum.Open != 0 || sum.Unsealed != 1 {
		t.Errorf("got %+v, want an unsealed run", sum)
	}
	tomorrow := time.Now().Add(24 * time.Hour).Format(time.DateOnly)
	if c = covered(t, verifier.ExitIncomplete, append(in, "--from", tomorrow)...); len(c.Hours) != 0 {
		t.Errorf("tomorrow has %+v", c.Hours)
	}
	far := total(covered(t, verifier.ExitIncomplete, append(in, "--from", "1000-01-01", "--to", "9999-12-31")...))
	if far.Records == 0 || far.Records != sum.Records {
		t.Errorf("%d records from 1000 to 9999, want all %d", far.Records, sum.Records)
	}
	if _, out := command(t, append([]string{"coverage"}, in...)...); !strings.Contains(out, "jdoe (replay by "+osuser.Current()+")") || !strings.Contains(out, "GAPS") {
		t.Errorf("printed:\n%s", out)
	}
	if c.Cosignatures != 0 || c.Witnessed != 0 {
		t.Errorf("%d cosignatures on %d leaves where there are no witnesses", c.Cosignatures, c.Witnessed)
	}
	drain(t, b, dir)
	if sum = total(covered(t, verifier.ExitIncomplete, in...)); len(sum.Accesses) != 6 {
		t.Errorf("%d uses are on record, want 6", len(sum.Accesses))
	}
}
