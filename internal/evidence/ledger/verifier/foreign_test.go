package verifier_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func signed() *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	f.Sign("p")
	f.Run("p", "r1", 3)
	return f
}

// next returns a manifest after the last one of p that lists n numbers as missing.
func next(f *ledgertest.Feed, n uint64) events.Manifest {
	m, hash := lastManifest(f)
	return events.Manifest{
		Version: 1, Tenant: "acme", Producer: "p", First: m.Last + 1, Last: m.Last + n, Prev: hash,
		Missing: []events.Range{{First: m.Last + 1, Last: m.Last + n, Reason: "shed"}}, Root: events.BatchRoot(nil).String(),
	}
}

func lastManifest(f *ledgertest.Feed) (m events.Manifest, hash string) {
	for _, msg := range f.Messages {
		if msg.Address.Manifest {
			m, _ = events.DecodeManifest(msg.Data)
			hash = events.HashOf(msg.Data).String()
		}
	}
	return m, hash
}

// coming is the first number that [signed] does not use.
const coming = 10

// forge adds n harmless events of p from coming on, the last one as a seal.
func forge(f *ledgertest.Feed, run string, n int) {
	var seal events.RunSealedData
	var digest [32]byte
	for i := range n {
		e, err := events.New(events.Custom, "/forged", events.CustomData{Name: "harmless"})
		if i == n-1 {
			seal.Digest = fmt.Sprintf("%x", digest)
			e, err = events.New(events.RunSealed, "/forged", seal)
			e.ID = seal.ID("acme", "p", run)
		}
		if err != nil {
			panic(err)
		}
		if e.ID == "" || i < n-1 {
			e.ID = fmt.Sprint("forged-", len(f.Messages))
		}
		e.Tenant, e.Producer, e.Run, e.Subject, e.Salt = "acme", "p", run, run, "c2FsdHNhbHRzYWx0c2FsdA"
		e.Time, e.Sequence = f.Now, coming+uint64(i)
		data := e.Encode()
		if seal.Count++; seal.First == 0 {
			seal.First = e.Sequence
		}
		seal.Last = e.Sequence
		hash := events.HashOf(data)
		digest = events.HashOf(append(digest[:], hash[:]...))
		f.Add(subjects.Address{Tenant: "acme", Producer: "p", Run: run, Kind: e.Kind()}, data)
	}
}

// verified verifies the feed in batches of 1 and of 1000.
func verified(t *testing.T, f *ledgertest.Feed) verifier.Report {
	t.Helper()
	var r verifier.Report
	for _, batch := range []int{1, 1000} {
		key := ledgertest.NewKey(t)
		r = ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, batch), key, verifier.Options{Tenant: "acme"})
	}
	return r
}

// wantForeign checks that the verdict is complete, and counts the foreign manifests and events.
func wantForeign(t *testing.T, r verifier.Report, manifests, records int) {
	t.Helper()
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	got := map[ledger.Class]int{}
	for _, f := range r.Foreign {
		got[f.Class]++
	}
	exit := verifier.ExitVerified
	switch {
	case r.Contradictions > 0:
		exit = verifier.ExitContradicts // two contents have one number
	case manifests+records > 0:
		exit = verifier.ExitIncomplete
	}
	if got[ledger.ClassManifest] != manifests || len(r.Foreign)-got[ledger.ClassManifest] != records || r.Exit != exit {
		t.Errorf("exit %d, foreign %+v; want exit %d, %d manifests and %d events", r.Exit, r.Foreign, exit, manifests, records)
	}
}

//guarantee:verify-foreign
func TestForeign(t *testing.T) {
	for _, tt := range []struct {
		name               string
		build              func(f *ledgertest.Feed)
		manifests, records int
	}{
		{"None", func(f *ledgertest.Feed) { f.Run("p", "r2", 3) }, 0, 0},
		{"Attack", func(f *ledgertest.Feed) {
			f.AddManifest(next(f, 9))
			forge(f, "r2", 9)
			f.Run("p", "r2", 3)
		}, 1, 9},
		{"AttackOnAnotherRun", func(f *ledgertest.Feed) {
			f.AddManifest(next(f, 9))
			forge(f, "ghost", 9)
			f.Run("p", "r2", 3)
		}, 1, 9},
		{"AttackBeyondAllNumbers", func(f *ledgertest.Feed) {
			f.AddManifest(next(f, 1e15))
			forge(f, "r1", 9)
			f.Run("p", "r2", 3)
		}, 1, 9},
		{"ManifestAlone", func(f *ledgertest.Feed) { f.AddManifest(next(f, math.MaxInt32)) }, 1, 0},
		{"ManifestOfAnotherKey", func(f *ledgertest.Feed) {
			f.AddManifest(ledgertest.Sign(next(f, 9), ledgertest.ProducerKey("stranger")))
			f.Run("p", "r2", 3)
		}, 1, 0},
		{"ManifestWithBadSignature", func(f *ledgertest.Feed) {
			m := ledgertest.Sign(next(f, 9), ledgertest.ProducerKey("p"))
			m.Last, m.Missing[0].Last = m.Last+1, m.Last+1
			f.AddManifest(m)
			f.Run("p", "r2", 3)
		}, 1, 0},
		{"EventsAlone", func(f *ledgertest.Feed) {
			forge(f, "r2", 5)
			f.Run("p", "r2", 3)
		}, 0, 5},
		{"EventsFarAway", func(f *ledgertest.Feed) {
			forge(f, "r2", 1)
			e, err := events.Decode(f.Messages[len(f.Messages)-1].Data)
			if err != nil {
				panic(err)
			}
			e.Sequence = 1e6
			f.Messages[len(f.Messages)-1].Data = e.Encode()
		}, 0, 1},
		{"EventBehind", func(f *ledgertest.Feed) {
			e, err := events.Decode(f.Messages[1].Data)
			if err != nil {
				panic(err)
			}
			e.Agent = "somebody else"
			f.Add(f.Messages[1].Address, e.Encode())
		}, 0, 1},
		{"EventUnderShedNumber", func(f *ledgertest.Feed) {
			forge(f, "r1", 2)
			f.Skip("p", 2, "shed")
			f.Event("p", "", events.GapRecorded, events.GapRecordedData{First: coming, Last: coming + 1, Reason: "shed"})
			f.Manifest("p")
		}, -1, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := signed()
			tt.build(f)
			r := verified(t, f)
			if tt.manifests < 0 { // the events that p dropped stay a gap
				if r.Completeness != verifier.Gaps || len(r.Foreign) != tt.records || len(r.Gaps) != 1 || r.Gaps[0].Cause != verifier.CauseRecorded {
					t.Errorf("%s, gaps %+v, foreign %+v", r.Completeness, r.Gaps, r.Foreign)
				}
				return
			}
			wantForeign(t, r, tt.manifests, tt.records)
		})
	}
}

// A foreign manifest hid a batch whose acknowledgement was lost. The producer sends its events
// again, in other batches.
//
//guarantee:verify-foreign
func TestForeign_SentAgain(t *testing.T) {
	f := signed()
	_, prev := lastManifest(f)
	begin := len(f.Messages)
	f.Run("p", "r2", 3)
	m, _ := lastManifest(f)
	batch := f.Messages[begin : len(f.Messages)-1]
	f.AddManifest(next(f, 9))
	for _, part := range [...][2]int{{0, 3}, {3, len(batch)}} {
		again := m
		var hashes []events.Hash
		for _, msg := range batch[part[0]:part[1]] {
			f.Add(msg.Address, msg.Data)
			hashes = append(hashes, events.HashOf(msg.Data))
		}
		again.First, again.Last = m.First+uint64(part[0]), m.First+uint64(part[1])-1
		again.Prev, again.Count, again.Root = prev, uint64(len(hashes)), events.BatchRoot(hashes).String()
		again = ledgertest.Sign(again, ledgertest.ProducerKey("p"))
		f.AddManifest(again)
		prev = events.HashOf(again.Encode()).String()
	}
	wantForeign(t, verified(t, f), 1, 0)

	// A copy of the outbox with other events is not the same producer.
	other := m
	other.Root = events.BatchRoot(make([]events.Hash, m.Count)).String()
	f.AddManifest(ledgertest.Sign(other, ledgertest.ProducerKey("p")))
	if r := verified(t, f); r.Completeness != verifier.Gaps || r.Exit != verifier.ExitIncomplete {
		t.Errorf("other content was listed: got %s, %d", r.Completeness, r.Exit)
	}
}

//guarantee:verify-foreign
func TestForeign_BeganUnsigned(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Run("p", "r1", 3)
	if r := verified(t, f); r.Exit != 0 || !r.Producers[0].UnsignedBefore.IsZero() {
		t.Errorf("an unsigned chain: %+v", r.Producers)
	}
	e, err := events.Decode(f.Messages[1].Data)
	if err != nil {
		t.Fatal(err)
	}
	e.Agent = "somebody else"
	f.Add(f.Messages[1].Address, e.Encode()) // set apart as before
	f.Sign("p")
	f.Run("p", "r2", 3)
	at := f.Now
	f.Run("p", "r3", 3)
	r := verified(t, f)
	wantForeign(t, r, 0, 0)
	if got := r.Producers[0].UnsignedBefore; !got.Equal(at) {
		t.Errorf("unsigned before %s, want %s", got.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
	}
	f.AddManifest(next(f, 9))
	wantForeign(t, verified(t, f), 1, 0)
}

//guarantee:verify-foreign
func TestForeign_BeganByOthers(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	empty := events.Manifest{
		Version: 1, Tenant: "acme", Producer: "p", First: 1, Last: 9,
		Missing: []events.Range{{First: 1, Last: 9, Reason: "shed"}}, Root: events.BatchRoot(nil).String(),
	}
	f.AddManifest(empty)
	f.Sign("p")
	f.Run("p", "r1", 3)
	wantForeign(t, verified(t, f), 1, 0)
}

// An unsigned manifest that lists an arrived number as missing causes a gap.
//
//guarantee:verify-foreign
func TestForeign_UnsignedListsHeldNumbers(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Run("p", "r1", 3)
	f.AddManifest(next(f, 9))
	forge(f, "r2", 9)
	if r := verified(t, f); r.Completeness != verifier.Gaps || len(r.Gaps) != 1 || r.Gaps[0].Cause != verifier.CauseAltered {
		t.Errorf("got %s, %+v", r.Completeness, r.Gaps)
	}
}

func TestForeign_ManyContents(t *testing.T) {
	f := signed()
	for range 5 {
		forge(f, "r2", 15)
	}
	f.Run("p", "r2", 6)
	wantForeign(t, verified(t, f), 0, 5*15)
}
