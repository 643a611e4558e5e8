package verifier_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A run became silent without a seal, and its producer lives on. Only the seal of a producer with
// at least its standing ends the run.
//
//guarantee:producer-silent
func TestStranger_SealsRun(t *testing.T) {
	unsigned := func(*ledgertest.Feed, string) {}
	signed := func(f *ledgertest.Feed, p string) { f.Sign(p) }
	enrolled := func(f *ledgertest.Feed, p string) { f.Enrol(p, "owner") }
	for _, tt := range []struct {
		name         string
		owner, other func(f *ledgertest.Feed, producer string)
		want         verifier.Completeness
	}{
		{"NoOther", enrolled, nil, verifier.Unsealed},
		{"UnsignedForEnrolled", enrolled, unsigned, verifier.Unsealed},
		{"SignedForEnrolled", enrolled, signed, verifier.Unsealed},
		{"EnrolledForEnrolled", enrolled, enrolled, verifier.Complete},
		{"UnsignedForSigned", signed, unsigned, verifier.Unsealed},
		{"SignedForSigned", signed, signed, verifier.Complete},
		{"EnrolledForSigned", signed, enrolled, verifier.Complete},
		{"SignedForUnsigned", unsigned, signed, verifier.Complete},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, key := opened(), ledgertest.NewKey(t)
			trust(t, f, key, events.AuditIssuer, "owner")
			tt.owner(f, "hooks")
			f.Event("hooks", "r9", events.RunStarted, events.RunStartedData{})
			f.Event("hooks", "r9", events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
			f.Manifest("hooks")
			if tt.other != nil {
				tt.other(f, "other")
				f.Event("other", "r9", events.RunFinished, events.RunFinishedData{})
				f.Seal("other", "r9")
				f.Manifest("other")
			}
			wait(f, time.Hour)
			f.Event("hooks", "", events.Custom, events.CustomData{Name: "later"})
			f.Manifest("hooks")
			f.Beat("p")
			r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 1000), key, verifier.Options{Tenant: "acme"})
			ledgertest.WantVerdicts(t, r, verifier.Verified, tt.want)
		})
	}
}
