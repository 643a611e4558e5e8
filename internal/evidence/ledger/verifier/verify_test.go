package verifier_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:verify-clean
func TestVerify_CleanLedger(t *testing.T) {
	f, key := ledgertest.BigFeed(), ledgertest.NewKey(t)
	for _, batch := range []int{1, 7, 1000} {
		r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, batch), key, verifier.Options{Tenant: "acme"})
		ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
		if r.SeenAgain != 2 || r.Leaves != int64(len(f.Messages)-2) || r.Runs.Sealed != 3 || r.Exit != 0 {
			t.Errorf("got %+v", r)
		}
	}
}

//guarantee:tampering
func TestVerify_MissingEvents(t *testing.T) {
	drop := func(f *ledgertest.Feed, producer string, sequence uint64) {
		for i, m := range f.Messages {
			e, err := events.Decode(m.Data)
			if err == nil && e.Producer == producer && e.Sequence == sequence {
				f.Messages = append(f.Messages[:i:i], f.Messages[i+1:]...)
				return
			}
		}
		panic("no such event")
	}
	tests := []struct {
		name  string
		build func(*ledgertest.Feed)
		want  []verifier.Gap
	}{
		{"LostInTheStream", func(f *ledgertest.Feed) {
			f.Run("p", "r1", 90)
			drop(f, "p", 97)
		}, []verifier.Gap{{Producer: "p", First: 97, Last: 97, Cause: verifier.CauseStream}}},
		{"LostAtTheProducer", func(f *ledgertest.Feed) {
			f.Event("p", "r1", events.RunStarted, events.RunStartedData{})
			f.Skip("p", 3, "torn")
			f.Event("p", "r1", events.RunFinished, events.RunFinishedData{})
			f.Seal("p", "r1")
			f.Manifest("p")
		}, []verifier.Gap{{Producer: "p", First: 2, Last: 4, Cause: verifier.CauseProducer, Reason: "torn"}}},
		{"Recorded", func(f *ledgertest.Feed) {
			f.Event("p", "r1", events.RunStarted, events.RunStartedData{})
			f.Skip("p", 3, "shed")
			f.Event("p", "", events.GapRecorded, events.GapRecordedData{First: 2, Last: 4, Reason: "shed"})
			f.Event("p", "r1", events.RunFinished, events.RunFinishedData{})
			f.Seal("p", "r1")
			f.Manifest("p")
		}, []verifier.Gap{{Producer: "p", First: 2, Last: 4, Cause: verifier.CauseRecorded, Reason: "shed"}}},
		{"FirstBatches", func(f *ledgertest.Feed) {
			f.Run("p", "r1", 2)
			f.Run("p", "r2", 2)
			f.Messages = f.Messages[8:] // drops seven events and their manifest
		}, []verifier.Gap{{Producer: "p", First: 1, Last: 7, Cause: verifier.CauseStream}}},
		{"Manifest", func(f *ledgertest.Feed) {
			f.Run("p", "r1", 2)
			f.Run("p", "r2", 2)
			f.Messages = append(f.Messages[:7:7], f.Messages[8:]...)
		}, []verifier.Gap{{Producer: "p", First: 1, Last: 7, Cause: verifier.CauseManifest}}},
		{"AlteredInTheStream", func(f *ledgertest.Feed) {
			f.Run("p", "r1", 2)
			e, _ := events.Decode(f.Messages[1].Data)
			e.Data = []byte(`{"tool":"Forged"}`)
			f.Messages[1].Data = e.Encode()
		}, []verifier.Gap{
			{Producer: "p", First: 1, Last: 7, Cause: verifier.CauseAltered},
			{Producer: "p", First: 1, Last: 6, Cause: verifier.CauseSeal, Run: "r1"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
			tt.build(f)
			r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 1000), key, verifier.Options{})
			ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Gaps)
			if diff := cmp.Diff(tt.want, r.Gaps); diff != "" || r.Exit != verifier.ExitIncomplete {
				t.Errorf("exit %d, gaps (-want +got):\n%s", r.Exit, diff)
			}
		})
	}
}

func TestVerify_RunsWithoutSeal(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Run("p", "done", 1)
	f.Event("p", "crashed", events.RunStarted, events.RunStartedData{})
	f.Manifest("p")
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	r := ledgertest.Verify(t, path, key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if diff := cmp.Diff([]string{"crashed"}, r.Open); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	f.Now = f.Now.Add(31 * time.Minute)
	f.Run("p", "later", 1)
	r = ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 1000), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Unsealed)
	if diff := cmp.Diff([]string{"crashed"}, r.Unsealed); diff != "" || r.Exit != verifier.ExitIncomplete {
		t.Errorf("exit %d, unsealed (-want +got):\n%s", r.Exit, diff)
	}
}

//guarantee:verify-no-manifests
func TestVerify_ProducerWithoutManifests(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Event("foreign", "r1", events.Custom, events.CustomData{Name: "x"})
	r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 1000), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Unproven)
	if r.Exit != verifier.ExitIncomplete {
		t.Errorf("exit: got %d, want %d", r.Exit, verifier.ExitIncomplete)
	}
}
