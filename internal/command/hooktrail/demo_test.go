package hooktrail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

func runQuietDemo(t *testing.T, ctx context.Context, session string) (DemoReport, error) { //nolint:revive // the context is what varies
	t.Helper()
	d := demo{
		dir: t.TempDir(), tenant: "default", session: session,
		progress: func(uint64, uint64) {}, log: slog.New(slog.DiscardHandler),
	}
	return d.run(ctx)
}

// The ledger and the metrics have the same counts.
func TestDemo(t *testing.T) {
	r, err := runQuietDemo(t, t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if r.Verified.Integrity != verifier.Verified || r.Verified.Completeness != verifier.Complete || r.Verified.Exit != verifier.ExitVerified {
		t.Errorf("got %s, %s, exit %d", r.Verified.Integrity, r.Verified.Completeness, r.Verified.Exit)
	}
	all := total(r.Runs)
	if all.calls != 20 || all.errors != 2 || all.failures != 1 || all.steps != 4 || all.failedSteps != 1 {
		t.Errorf("got %+v", all)
	}
	m := r.Metrics
	if int(m.ToolCalls) != all.calls || int(m.ToolErrors) != all.errors || int(m.Steps) != all.steps || m.TokensUsed != all.tokens {
		t.Errorf("metrics counted %+v, the ledger %+v", m, all)
	}
	var kinds []rules.Kind
	for _, i := range r.Issues {
		kinds = append(kinds, i.Kind)
	}
	if len(kinds) != 2 {
		t.Errorf("got issues %v, want a failure and a follow-up", kinds)
	}
	if len(r.AgentFS) != 1 || r.DataDir != "" {
		t.Errorf("got AgentFS files %v, data directory %q", r.AgentFS, r.DataDir)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestDemo_RecordedSession(t *testing.T) {
	session := realdata.Path(t, "claude-code", "marot-spotter", "ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl")
	r, err := runQuietDemo(t, t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verified.Exit != verifier.ExitVerified {
		t.Errorf("got %s and %s", r.Verified.Integrity, r.Verified.Completeness)
	}
	if len(r.Runs) < 3 || r.Runs[0].ParentRun != "" || r.Runs[1].ParentRun == "" {
		t.Errorf("got %d runs, the first of %q", len(r.Runs), r.Runs[0].ParentRun)
	}
}

func TestDemo_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runQuietDemo(t, ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// The summary shows all problems, and agents' texts cannot move the cursor.
func TestWriteDemo_Bad(t *testing.T) {
	evil := "\x1b[2Jtitle"
	r := DemoReport{
		Title:  evil,
		Runs:   []ledger.RunSummary{{Run: evil, ToolCallsByName: map[string]int{evil: 1}}},
		Issues: make([]tracker.Issue, 10),
		Verified: verifier.Report{
			Integrity: verifier.Invalid, Problems: []string{"leaf 7 differs"}, Tenant: "acme",
			Completeness: verifier.Gaps, Gaps: []verifier.Gap{{Producer: "coder-e4", First: 97, Last: 97, Cause: verifier.CauseStream}},
		},
		DataDir: "/tmp/it's",
	}
	r.Issues[0].Title = evil
	r.Imported.Malformed = 2
	var out bytes.Buffer
	writeDemo(&out, r)
	for _, want := range []string{
		"INVALID", "leaf 7 differs", "GAPS", "missing: coder-e4 97 to 97 (stream)", "no checkpoint", "and 2 others",
		"2 malformed lines", `auditor verify --data-dir '/tmp/it'\''s' --tenant acme`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("a title moves the cursor: %q", out.String())
	}
}
