package verifier_test

import (
	"slices"
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

// A guest who has read the id of a lost producer, for example in producer.lost, writes in its name.
// Only the key of the producer ends the loss.
//
//guarantee:producer-silent
func TestStranger_AnswersForLostProducer(t *testing.T) {
	custom := func(f *ledgertest.Feed) {
		f.Event("http-1f", "", events.Custom, events.CustomData{Name: "harmless"})
		f.Manifest("http-1f")
	}
	key := ledgertest.PublicKey("http-1f")
	for _, tt := range []struct {
		name   string
		build  func(f *ledgertest.Feed)
		isLost bool
	}{
		{"FirstKey", func(f *ledgertest.Feed) { f.Lose("auditor", "http-1f"); f.Sign("http-1f"); custom(f) }, true},
		{"Unsigned", func(f *ledgertest.Feed) { custom(f); f.Lose("auditor", "http-1f"); custom(f) }, true},
		{"OtherKey", func(f *ledgertest.Feed) {
			f.LoseKey("auditor", "http-1f", ledgertest.PublicKey("owner"))
			f.Sign("http-1f")
			custom(f)
		}, true},
		{"OwnLossOfOtherKey", func(f *ledgertest.Feed) {
			f.LoseKey("auditor", "http-1f", ledgertest.PublicKey("owner"))
			f.LoseKey("ghost", "http-1f", key)
			f.Sign("http-1f")
			custom(f)
		}, true},
		{"Key", func(f *ledgertest.Feed) { f.LoseKey("auditor", "http-1f", key); f.Sign("http-1f"); custom(f) }, false},
		{"ChangedKey", func(f *ledgertest.Feed) {
			f.LoseKey("auditor", "http-1f", key)
			f.Sign("http-1f")
			f.ChangeKey("http-1f", "next")
			custom(f)
			custom(f)
		}, false},
		{"LostAgain", func(f *ledgertest.Feed) {
			f.LoseKey("auditor", "http-1f", key)
			f.Sign("http-1f")
			custom(f)
			f.LoseKey("auditor", "http-1f", key)
		}, true},
		{"SignedBefore", func(f *ledgertest.Feed) { f.Sign("http-1f"); custom(f); f.Lose("auditor", "http-1f"); custom(f) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := opened()
			f.Open("auditor", time.Hour)
			tt.build(f)
			r := verified(t, f)
			if got := slices.Equal(absent(r), []string{"http-1f"}); got != tt.isLost || tt.isLost && r.Exit != verifier.ExitIncomplete {
				t.Errorf("exit %d, %s, absent %v", r.Exit, r.Completeness, absent(r))
			}
		})
	}
}
