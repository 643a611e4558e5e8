package auditor

import (
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func TestPrintReport_Foreign(t *testing.T) {
	r := verifier.NewReport("ledger.db")
	r.Checkpoint = &verifier.Signed{}
	r.Foreign = []verifier.Foreign{{
		Leaf: 7, Class: ledger.ClassManifest, Producer: "p\x1b", Sequence: 9, StreamSequence: 12, Reason: "its signature is wrong",
	}}
	r.ForeignCount = 2000
	r.Producers = []verifier.Producer{{Name: "q", UnsignedBefore: time.Date(2026, 11, 20, 9, 14, 7, 0, time.UTC)}}
	var out strings.Builder
	PrintReport(&out, r)
	for _, want := range []string{
		"Foreign:      FOUND (2,000) other writers",
		"leaf 7, manifest: producer p\\x1b #9, stream sequence 12: its signature is wrong",
		"Unsigned:     q before 2026-11-20T09:14:07Z",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	clean := verifier.NewReport("ledger.db")
	clean.Checkpoint = &verifier.Signed{}
	out.Reset()
	if PrintReport(&out, clean); strings.Contains(out.String(), "Foreign") || strings.Contains(out.String(), "Unsigned") {
		t.Errorf("nothing is foreign:\n%s", &out)
	}
}

// A producer with too many events before a manifest gets a remedy in words.
func TestPrintReport_Unchecked(t *testing.T) {
	r := verifier.NewReport("ledger.db")
	r.Checkpoint, r.Completeness = &verifier.Signed{}, verifier.Unproven
	r.Producers = []verifier.Producer{{Name: "coder-1", Manifests: 1, Unchecked: true}}
	var out strings.Builder
	PrintReport(&out, r)
	for _, want := range []string{"to compare them: coder-1\n", "compare them with their source, and record with auditor acknowledge that they are known"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}
