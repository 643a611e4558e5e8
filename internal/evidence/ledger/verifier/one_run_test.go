package verifier_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// without removes an event from the stream.
func without(f *ledgertest.Feed, producer string, sequence uint64) {
	f.Messages = slices.DeleteFunc(f.Messages, func(m ledger.Message) bool {
		e, err := events.Decode(m.Data)
		return err == nil && e.Producer == producer && e.Sequence == sequence
	})
}

//guarantee:verify-run
func TestVerify_OneRun(t *testing.T) {
	// Producer p sends #1 to #5 of run before, #6 to #10 of run r, and #11 to #15 of run after. Producer
	// x sends one event before run r and one behind it. Producer q sends later.
	build := func(f *ledgertest.Feed) {
		note := func() {
			f.Event("x", "x", events.Custom, map[string]string{})
			f.Manifest("x")
		}
		f.Run("p", "before", 1)
		note()
		f.Run("p", "r", 1)
		note()
		f.Run("p", "after", 1)
		f.Run("q", "other", 1)
	}
	for _, tt := range []struct {
		name   string
		change func(f *ledgertest.Feed)
		want   verifier.Completeness
	}{
		{"Clean", func(*ledgertest.Feed) {}, verifier.Complete},
		{"LostBefore", func(f *ledgertest.Feed) { without(f, "p", 3) }, verifier.Complete},
		{"LostBeforeAndDisordered", func(f *ledgertest.Feed) {
			without(f, "p", 3)
			i := slices.IndexFunc(f.Messages, func(m ledger.Message) bool { return m.Address.Run == "r" })
			f.Messages[i+1].Data, f.Messages[i+2].Data = f.Messages[i+2].Data, f.Messages[i+1].Data
			f.Messages[i+1].Address, f.Messages[i+2].Address = f.Messages[i+2].Address, f.Messages[i+1].Address
		}, verifier.Complete},
		{"LostOfAnotherProducer", func(f *ledgertest.Feed) { without(f, "q", 3) }, verifier.Complete},
		{"LostOfAnotherProducerEarlier", func(f *ledgertest.Feed) { without(f, "x", 1) }, verifier.Complete},
		{"LostOfAnotherProducerMeanwhile", func(f *ledgertest.Feed) { without(f, "x", 2) }, verifier.Gaps},
		{"LostAllOfAnotherProducer", func(f *ledgertest.Feed) { without(f, "x", 1); without(f, "x", 2) }, verifier.Gaps},
		{"LostOfTheRun", func(f *ledgertest.Feed) { without(f, "p", 8) }, verifier.Gaps},
		{"LostSeal", func(f *ledgertest.Feed) { without(f, "p", 10) }, verifier.Gaps},
		{"LostLater", func(f *ledgertest.Feed) { without(f, "p", 13) }, verifier.Gaps},
		{"OtherRunOpen", func(f *ledgertest.Feed) {
			f.Event("p", "open", events.RunStarted, events.RunStartedData{})
			f.Manifest("p")
		}, verifier.Complete},
		{"OtherProducerUnlisted", func(f *ledgertest.Feed) { f.Event("z", "z", events.Custom, map[string]string{}) }, verifier.Complete},
		{"Unlisted", func(f *ledgertest.Feed) { f.Event("z", "r", events.Custom, map[string]string{}) }, verifier.Unproven},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
			build(f)
			tt.change(f)
			path := ledgertest.Write(t, t.TempDir(), key, f, 100)
			r := ledgertest.Verify(t, path, key, verifier.Options{Run: "r"})
			ledgertest.WantVerdicts(t, r, verifier.Verified, tt.want)
			if none := ledgertest.Verify(t, path, key, verifier.Options{Run: "none"}); !none.IsOfNothing() || r.IsOfNothing() {
				t.Errorf("a run that is not there: %+v", none)
			}
		})
	}
}

// Gaps, runs and producers count in the time range in which the server stored them.
//
//guarantee:verify-run
func TestVerify_Window(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Sign("p")
	day := func(n int) time.Time { return ledgertest.Began.Add(time.Duration(n) * 24 * time.Hour) }
	for n, producer := range []string{"p", "p", "q", "p"} {
		f.Now = day(n)
		f.Run(producer, "r"+string(rune('0'+n)), 1)
		if n == 0 { // somebody else says that p never sent the numbers of the next day
			f.AddManifest(events.Manifest{
				Version: 1, Tenant: "acme", Producer: "p", First: 6, Last: 9, Root: events.BatchRoot(nil).String(), Missing: []events.Range{{First: 6, Last: 9}},
			})
		}
	}
	f.Now = day(4)
	f.Event("z", "r4", events.RunStarted, events.RunStartedData{}) // without a manifest
	f.Now = day(5)
	f.Run("p", "r5", 1)
	without(f, "p", 8) // of r1
	path := ledgertest.Write(t, t.TempDir(), key, f, 100)
	for _, tt := range []struct {
		name     string
		from, to time.Time
		want     verifier.Completeness
		nothing  bool
	}{
		{"All", time.Time{}, time.Time{}, verifier.Gaps, false},
		{"BeforeTheGap", time.Time{}, day(1), verifier.Complete, false},
		{"Gap", day(1), day(2), verifier.Gaps, false},
		{"AfterTheGap", day(2), day(4), verifier.Complete, false},
		{"Unsealed", day(4), day(5), verifier.Unsealed, false},
		{"Last", day(5), time.Time{}, verifier.Complete, false},
		{"Nothing", day(7), day(8), verifier.Empty, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ledgertest.Verify(t, path, key, verifier.Options{From: tt.from, To: tt.to})
			ledgertest.WantVerdicts(t, r, verifier.Verified, tt.want)
			if r.IsOfNothing() != tt.nothing {
				t.Errorf("of nothing: %t", r.IsOfNothing())
			}
		})
	}
}

// A client chooses the reason of a loss, so reports cut it.
func TestGap_LongReason(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	f.Event("p", "r", events.Custom, map[string]string{})
	f.Skip("p", 1, strings.Repeat("é", 1<<16))
	f.Manifest("p")
	r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 10), key, verifier.Options{})
	if len(r.Gaps) != 1 || len(r.Gaps[0].Reason) > 210 || !strings.HasSuffix(r.Gaps[0].Reason, "é…") {
		t.Errorf("got %+v", r.Gaps)
	}
}
