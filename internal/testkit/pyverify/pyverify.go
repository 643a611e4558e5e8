// Package pyverify runs a second verifier of ledgers and bundles, testdata/verify.py. It was
// written from the documents and shares no code with internal/evidence/ledger/verifier. If the two
// disagree, one of them or a document is wrong.
//
// The script needs python3 with the module cryptography (Debian: python3-cryptography).
package pyverify

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pythontest"
)

//go:embed testdata/verify.py
var script []byte

// Request names the evidence that both verifiers judge.
type Request struct {
	Path    string `json:"path"` // of a ledger or bundle
	Key     string `json:"key,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
	Trusted string `json:"trusted,omitempty"` // checkpoint from elsewhere

	RequireEnrolled bool `json:"require_enrolled,omitempty"`

	Silence time.Duration `json:"silence,omitempty"` // a run without events for this long has ended; 30 minutes by default
}

// Verdict is the answer of the script.
type Verdict struct {
	Integrity    verifier.Integrity    `json:"integrity"`
	Completeness verifier.Completeness `json:"completeness"`
	Exit         int                   `json:"exit"`
	Foreign      int64                 `json:"foreign"`
	Counts       Counts                `json:"counts"`

	Problem  string   `json:"problem"`
	Gaps     []string `json:"gaps"`
	Findings []string `json:"findings"`
	Error    string   `json:"error"`
}

// Counts are the records and runs that the script found.
type Counts struct {
	Leaves    int64 `json:"leaves"`
	Events    int64 `json:"events"`
	Manifests int64 `json:"manifests"`
	SetApart  int64 `json:"set_apart"`
	SeenAgain int64 `json:"seen_again"`
	Sealed    int   `json:"sealed"`
	Open      int   `json:"open"`
	Unsealed  int   `json:"unsealed"`
}

// Verifier is a running process of the script.
type Verifier struct {
	mu   sync.Mutex // guards the process, which answers one request at a time; lock no other mutex while holding it
	in   *json.Encoder
	out  *json.Decoder
	took time.Duration
	n    int
}

// Start starts the script. If python3 or its module is missing, it logs that and returns nil, or
// fails the test if HOOKTRAIL_TEST_REQUIRE is 1.
func Start(tb testing.TB) *Verifier {
	tb.Helper()
	python := pythontest.FindWith(tb, "cryptography")
	if python == "" {
		return nil
	}
	path := filepath.Join(tb.TempDir(), "verify.py")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), python, path, "--serve")
	cmd.Stderr = tb.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	v := &Verifier{in: json.NewEncoder(in), out: json.NewDecoder(out)}
	tb.Cleanup(func() {
		_ = errors.Join(in.Close(), cmd.Wait()) // a failure shows in the answers
		tb.Logf("the second verifier judged %d files in %s", v.n, v.took.Round(time.Millisecond))
	})
	return v
}

// Verify returns the answer of the script.
func (v *Verifier) Verify(tb testing.TB, q Request) (a Verdict) {
	tb.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	began := time.Now()
	if err := errors.Join(v.in.Encode(q), v.out.Decode(&a)); err != nil {
		tb.Fatalf("second verifier: %v", err)
	}
	v.took, v.n = v.took+time.Since(began), v.n+1
	return a
}

// Compare fails the test unless the script agrees with a report about integrity, completeness, exit
// status and counts. It ignores the counts of an invalid file.
func (v *Verifier) Compare(tb testing.TB, q Request, r verifier.Report) {
	tb.Helper()
	a := v.Verify(tb, q)
	got, want := a.summary(), summaryOf(r)
	if a.Error != "" || got != want {
		tb.Errorf("the second verifier disagrees:\n  it says  %s %s\n  we say   %s\nits problem %q, gaps %q, findings %q\nour problems %q, gaps %+v, foreign %+v, findings %+v, unsealed %q",
			got, a.Error, want, a.Problem, a.Gaps, a.Findings, r.Problems, r.Gaps, r.Foreign, r.Findings, r.Unsealed)
	}
}

func (a Verdict) summary() string {
	if a.Integrity != verifier.Verified {
		return fmt.Sprintf("%s (%d)", a.Integrity, a.Exit)
	}
	return fmt.Sprintf("%s %s (%d) foreign %d %+v", a.Integrity, a.Completeness, a.Exit, a.Foreign, a.Counts)
}

func summaryOf(r verifier.Report) string {
	return Verdict{
		Integrity: r.Integrity, Completeness: r.Completeness, Exit: r.Exit, Foreign: r.ForeignCount,
		Counts: Counts{r.Leaves, r.Events, r.Manifests, r.SetApart, r.SeenAgain, r.Runs.Sealed, r.Runs.Open, r.Runs.Unsealed},
	}.summary()
}
