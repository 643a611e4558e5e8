package auditor

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// judged are the fields in which a bundle of everything and its ledger agree.
type judged struct {
	Integrity    verifier.Integrity
	Completeness verifier.Completeness
	Enrolled     int
	NotEnrolled  []string
	Erased       int64
	Rules        []string
	Pending      []verifier.PendingKey
	GoodStamps   int
	Exit         int
}

func judgedOf(r verifier.Report) judged {
	j := judged{r.Integrity, r.Completeness, r.Enrolled, r.NotEnrolled, r.Redacted.Erased, nil, r.PendingKeys, 0, r.Exit}
	for _, rule := range r.Redacted.Rules {
		j.Rules = append(j.Rules, string(rule.Action)+" "+string(rule.Effect))
	}
	if r.TimeStamps != nil {
		j.GoodStamps = r.TimeStamps.Good
	}
	return j
}

// The old key signed an erasure, a rule, an issuer, endorsements and the checkpoint of a time stamp.
// Bundles from before the next start of the auditor have the verdict of the ledger.
//
//guarantee:rotate-pending
func TestKeyRotate_PendingBundles(t *testing.T) {
	s, grow := newStamped(t)
	at := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
	for _, args := range [][]string{
		{"rule", "floor", "180d"},
		{"issuer", "add", ledgertest.PublicKey("machine")},
		{"erase", "--run", "r1"},
	} {
		args = append(args, "--reason", "x", "--tenant", "acme", "--data-dir", s.dir, "--nats-url", s.o.Broker.Conn().ConnectedUrl())
		if status, out := command(t, args...); status != 0 {
			t.Fatalf("%v: status %d: %s", args, status, out)
		}
	}
	s.o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	grow("r2")
	s.o.Now = nil
	old := publicKey(t, s.dir)
	for n, name := range []string{"first", "second"} {
		rotateOnce(t, s.dir)
		_, r := s.verify(t, "--tsa-cert", s.tsa.Roots)
		want := judgedOf(r)
		if want.Integrity != verifier.Verified || want.Erased == 0 || len(want.Rules) != 1 || len(want.Pending) != n+1 || want.GoodStamps != 2 || want.Enrolled == 0 {
			t.Fatalf("%s ledger: %+v, %q", name, want, r.Problems)
		}
		for kind, args := range map[string][]string{"whole": nil, "run": {"--run", "r2"}, "window": {"--from", at}} {
			zip := filepath.Join(t.TempDir(), kind)
			args = append(args, "export", "--tenant", "acme", "--data-dir", s.dir, "--out", zip)
			if status, out := command(t, args...); status != 0 {
				t.Fatalf("%s %s export: status %d: %s", name, kind, status, out)
			}
			for i, key := range []string{publicKey(t, s.dir), old} {
				got := judgedOf(checkFile(t, zip, key, s.tsa.Roots))
				want := want
				if kind == "run" {
					want.Erased, want.Enrolled = 0, 0 // only the producer of the run
				}
				if kind != "whole" {
					want.GoodStamps = 1
				}
				want.GoodStamps = min(want.GoodStamps, 1) // a bundle has the newest one
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s bundle, key %d (-ledger +bundle):\n%s", name, kind, i, diff)
				}
			}
		}
	}
}

func checkFile(tb testing.TB, zip, key, roots string) verifier.Report {
	tb.Helper()
	_, text := command(tb, "verify", zip, "--key", key, "--tsa-cert", roots, "--json")
	var r bundle.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		tb.Fatalf("%v:\n%s", err, text)
	}
	if len(r.Problems) > 0 || !r.Attested {
		tb.Errorf("problems %q, attested %t", r.Problems, r.Attested)
	}
	return r.Report
}
