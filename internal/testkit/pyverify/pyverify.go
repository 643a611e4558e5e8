// Package pyverify runs testdata/verify, a second verifier of ledgers and bundles. It was written
// from the documents and shares no code with the first. If the two disagree, one of them or a
// document is wrong. The script needs the module cryptography (Debian: python3-cryptography).
package pyverify

import (
	"embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pythontest"
)

//go:embed testdata/verify/*.py
var script embed.FS

// Request names the evidence for both verifiers and the options of auditor verify.
type Request struct {
	Path    string `json:"file"` // of a ledger or bundle
	Key     string `json:"key,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
	Trusted string `json:"trusted,omitempty"` // checkpoint from elsewhere

	CheckpointFile string `json:"checkpoint_file,omitempty"`
	WitnessPolicy  string `json:"witness_policy,omitempty"` // its text or a file
	DataDir        string `json:"data_dir,omitempty"`       // whose ledger it is
	Known          string `json:"known,omitempty"`          // file of pinned keys

	Run  string    `json:"run,omitempty"`
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`

	RequireEnrolled   bool `json:"require_enrolled,omitempty"`
	RequireTrusted    bool `json:"require_trusted,omitempty"`
	AllowAcknowledged bool `json:"allow_acknowledged,omitempty"`

	Silence time.Duration `json:"silence,omitempty"` // silence that ends a run. Default: 30 minutes
}

// Verdict is the answer of the script.
type Verdict struct {
	Integrity    verifier.Integrity    `json:"integrity"`
	Completeness verifier.Completeness `json:"completeness"`
	Anchor       verifier.AnchorState  `json:"anchor"`
	Exit         int                   `json:"exit"`
	Foreign      int64                 `json:"foreign"`
	Counts       Counts                `json:"counts"`
	New          []string              `json:"new"` // ids of findings that can be acknowledged
	Acknowledged []string              `json:"acknowledged"`
	NotEnrolled  []string              `json:"not_enrolled"` // producers

	Problem  string   `json:"problem"`
	Gaps     []string `json:"gaps"`
	Records  []string `json:"foreign_records"`
	Findings int64    `json:"findings"` // records that contradict others
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
	mu   sync.Mutex // guards the process. Holders take no other lock
	in   *json.Encoder
	out  *json.Decoder
	took time.Duration
	n    int
}

// Start starts the script, or returns nil without python3 or the module. If HOOKTRAIL_TEST_REQUIRE
// is 1, the test fails instead.
func Start(tb testing.TB) *Verifier {
	tb.Helper()
	python := pythontest.FindWith(tb, "cryptography")
	if python == "" {
		return nil
	}
	dir := tb.TempDir()
	if err := os.CopyFS(dir, script); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), python, filepath.Join(dir, "testdata", "verify"), "--serve")
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

// Compare fails the test if the script and a report disagree. For an invalid file, only the
// integrity and the exit status count.
func (v *Verifier) Compare(tb testing.TB, q Request, r verifier.Report) {
	tb.Helper()
	a := v.Verify(tb, q)
	got, want := a.comparable(), verdictOf(r).comparable()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("the second verifier disagrees about %+v (-ours +its):\n%s\nits problem %q, gaps %q, foreign %q\nour problems %q, gaps %+v, foreign %+v\nfindings %+v\nacknowledgeable %+v\nproducers %+v",
			q, diff, a.Problem, a.Gaps, a.Records, r.Problems, r.Gaps, r.Foreign, r.Findings, r.Matters, r.Producers)
	}
}

// comparable returns the fields about which both verifiers must agree.
func (a Verdict) comparable() Verdict {
	if a.Integrity != verifier.Verified {
		return Verdict{Integrity: a.Integrity, Exit: a.Exit, Error: a.Error}
	}
	a.Problem, a.Gaps, a.Records = "", nil, nil
	for _, list := range []*[]string{&a.New, &a.Acknowledged, &a.NotEnrolled} {
		*list = append([]string{}, *list...)
		slices.Sort(*list)
	}
	return a
}

// verdictOf converts a report to the form of the script's answer.
func verdictOf(r verifier.Report) Verdict {
	a := Verdict{
		Integrity: r.Integrity, Completeness: r.Completeness, Anchor: verifier.AnchorGiven, Exit: r.Exit, Foreign: r.ForeignCount,
		Counts:      Counts{r.Leaves, r.Events, r.Manifests, r.SetApart, r.SeenAgain, r.Runs.Sealed, r.Runs.Open, r.Runs.Unsealed},
		Findings:    r.Contradictions + r.DeniedResultCount,
		NotEnrolled: r.NotEnrolled,
	}
	if r.Anchor != nil {
		a.Anchor = r.Anchor.State
	}
	for _, m := range r.Matters {
		if m.Acknowledged != nil {
			a.Acknowledged = append(a.Acknowledged, m.ID)
		} else {
			a.New = append(a.New, m.ID)
		}
	}
	return a
}
