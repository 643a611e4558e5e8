package verifier_test

import (
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A seal is compared with the producer's own events if they arrived out of order, one of them
// was seen again, and somebody else has sent other content under its number.
func TestForeign_SealOutOfOrder(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Run("q", "r1", 1)
	again, err := events.Decode(f.Messages[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	f.Sign("p")
	f.Publish("p", again)
	at := len(f.Messages) // of #2
	f.Run("p", "r1", 1)
	f.Messages[at], f.Messages[at+1] = f.Messages[at+1], f.Messages[at]
	f.Messages[at].Stored, f.Messages[at+1].Stored = f.Messages[at+1].Stored, f.Messages[at].Stored
	forged := f.Messages[at-1]
	e, err := events.Decode(forged.Data)
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Agent = "forged", "somebody else"
	forged.Data = e.Encode()
	f.Messages = slices.Insert(f.Messages, at, forged)
	for i := range f.Messages {
		f.Messages[i].Sequence = uint64(i + 1)
	}
	r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 40), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if r.ForeignCount != 1 || r.SeenAgain != 1 {
		t.Errorf("foreign %+v, seen again %d", r.Foreign, r.SeenAgain)
	}
}

// contents sends a forged event, a manifest of p that lists its number, and p's own event.
func contents(f *ledgertest.Feed, run string) {
	f.Event("p", run, events.RunStarted, events.RunStartedData{Title: "own"})
	at := len(f.Messages) - 1
	own := f.Messages[at]
	e, err := events.Decode(own.Data)
	if err != nil {
		panic(err)
	}
	e.ID, e.Agent = e.ID+"-forged", "somebody else"
	f.Messages[at].Data = e.Encode()
	f.Manifest("p")
	f.Add(own.Address, own.Data)
}

// The producer's own content counts if it arrives after the manifest that lists it.
//
//guarantee:verify-foreign
func TestForeign_OwnContentIsLate(t *testing.T) {
	f, key := signed(), ledgertest.NewKey(t)
	contents(f, "r1")
	f.Event("p", "r1", events.RunFinished, events.RunFinishedData{})
	f.Seal("p", "r1")
	f.Manifest("p")
	r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 40), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if r.ForeignCount != 1 || r.Exit != verifier.ExitContradicts {
		t.Errorf("foreign %+v, exit %d", r.Foreign, r.Exit)
	}
}

// If the manifest of a number is missing, nothing shows which of its contents is the
// producer's own, so none is foreign and none can be acknowledged.
func TestForeign_ManifestIsMissing(t *testing.T) {
	f, key := signed(), ledgertest.NewKey(t)
	contents(f, "")
	f.Messages = slices.Delete(f.Messages, len(f.Messages)-2, len(f.Messages)-1)
	f.Event("p", "", events.Custom, events.CustomData{Name: "later"})
	f.Manifest("p")
	late := f.Messages[len(f.Messages)-3]
	f.Messages = append(slices.Delete(f.Messages, len(f.Messages)-3, len(f.Messages)-2), late) // behind the later manifest
	for i := range f.Messages {
		f.Messages[i].Sequence = uint64(i + 1)
	}
	acknowledge(t, f, key, idsOf(verifyFeed(t, f, key, true))...)
	r := verifyFeed(t, f, key, true)
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Gaps)
	if r.ForeignCount != 0 || r.UnacknowledgedCount != 0 || r.Exit != verifier.ExitContradicts {
		t.Errorf("foreign %+v, new %+v, exit %d", r.Foreign, r.Matters, r.Exit)
	}
}

// A seal counts the first content under a number, and no later one of another run.
func TestSeal_CountsFirstContent(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Run("q", "other", 1)
	again, err := events.Decode(f.Messages[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	f.Run("p", "r1", 1)
	again.Producer, again.Sequence = "p", 1
	first := slices.IndexFunc(f.Messages, func(m ledger.Message) bool { return m.Address.Producer == "p" })
	m := f.Messages[first]
	m.Address.Run, m.Address.Kind, m.Data = again.Run, again.Kind(), again.Encode()
	f.Messages = slices.Insert(f.Messages, first, m)
	for i := range f.Messages {
		f.Messages[i].Sequence = uint64(i + 1)
	}
	r := verifyFeed(t, f, key, false)
	if !slices.ContainsFunc(r.Gaps, func(g verifier.Gap) bool { return g.Cause == verifier.CauseSeal }) {
		t.Errorf("gaps %+v", r.Gaps)
	}
}
