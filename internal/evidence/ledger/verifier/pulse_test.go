package verifier_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func opened() *ledgertest.Feed {
	f := ledgertest.NewFeed("acme")
	f.Open("p", 10*time.Minute)
	f.Run("p", "r1", 3)
	return f
}

func wait(f *ledgertest.Feed, d time.Duration) { f.Now = f.Now.Add(d) }

// absent returns the names of the silent and the lost producers.
func absent(r verifier.Report) (names []string) {
	for _, p := range r.Producers {
		if (p.Lost != nil) != (p.State == verifier.StateLost) {
			panic("the state of " + p.Name + " is " + string(p.State))
		}
		if p.Silent || p.Lost != nil {
			names = append(names, p.Name)
		}
	}
	return names
}

//guarantee:producer-silent
func TestPulse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		build  func(f *ledgertest.Feed)
		want   verifier.Completeness
		absent []string
	}{
		{"Heard", func(f *ledgertest.Feed) { wait(f, 29*time.Minute) }, verifier.Complete, nil},
		{"Silent", func(f *ledgertest.Feed) { wait(f, 31*time.Minute) }, verifier.Unproven, []string{"p"}},
		{"Closed", func(f *ledgertest.Feed) { f.Close("p"); wait(f, time.Hour) }, verifier.Complete, nil},
		{"Heartbeat", func(f *ledgertest.Feed) {
			wait(f, 20*time.Minute)
			f.Beat("p")
			wait(f, 20*time.Minute)
			f.Beat("p")
			wait(f, 20*time.Minute)
		}, verifier.Complete, nil},
		{"SilentAfterHeartbeat", func(f *ledgertest.Feed) { f.Beat("p"); wait(f, time.Hour) }, verifier.Unproven, []string{"p"}},
		{"OpenedAgain", func(f *ledgertest.Feed) {
			f.Close("p")
			wait(f, time.Hour)
			f.Open("p", time.Minute)
			f.Run("p", "r2", 1)
			wait(f, 4*time.Minute)
		}, verifier.Unproven, []string{"p"}},
		{"HeardAfterSilence", func(f *ledgertest.Feed) { wait(f, 2*time.Hour); f.Beat("p") }, verifier.Complete, nil},
		{"OlderVersion", func(f *ledgertest.Feed) { f.Run("old", "r2", 2); f.Beat("p"); f.Close("p"); wait(f, 24*time.Hour) }, verifier.Complete, nil},
		{"HeartbeatReplayed", func(f *ledgertest.Feed) {
			f.Beat("p")
			replayed := f.Messages[len(f.Messages)-1]
			wait(f, time.Hour)
			f.Add(replayed.Address, replayed.Data)
		}, verifier.Unproven, []string{"p"}},
		{"Lost", func(f *ledgertest.Feed) { f.Open("auditor", time.Hour); f.Lose("auditor", "p") }, verifier.Unproven, []string{"p"}},
		{"LostAndBack", func(f *ledgertest.Feed) {
			f.Open("auditor", time.Hour)
			f.Lose("auditor", "p")
			f.Beat("p")
		}, verifier.Complete, nil},
		{"LostBeforeItsFirstEvent", func(f *ledgertest.Feed) {
			f.Open("auditor", time.Hour)
			f.Lose("auditor", "http-1f")
		}, verifier.Unproven, []string{"http-1f"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := opened()
			tt.build(f)
			r := verified(t, f)
			ledgertest.WantVerdicts(t, r, verifier.Verified, tt.want)
			if got := absent(r); !slices.Equal(got, tt.absent) || r.ForeignCount > 0 {
				t.Errorf("absent %v, foreign %v; want %v", got, r.Foreign, tt.absent)
			}
		})
	}
}

// A stranger forges a heartbeat or the end of a silent producer.
//
//guarantee:producer-silent
func TestPulse_Forged(t *testing.T) {
	for name, state := range map[string]events.State{"Heartbeat": events.StateOpen, "Closed": events.StateClosed} {
		for key, seed := range map[string]string{"OtherKey": "stranger", "NoKey": ""} {
			t.Run(name+key, func(t *testing.T) {
				f := opened()
				wait(f, time.Hour)
				m, hash := lastManifest(f)
				m.First, m.Count, m.Prev, m.Root, m.State, m.Beat = m.Last+1, 0, hash, events.BatchRoot(nil).String(), state, 1
				if m.Interval = 600; state == events.StateClosed {
					m.Interval = 0
				}
				if seed == "" {
					m.Sig = ledgertest.Sign(m, ledgertest.ProducerKey("stranger")).Sig
				} else {
					m = ledgertest.Sign(m, ledgertest.ProducerKey(seed))
				}
				f.Add(subjects.Address{Tenant: "acme", Producer: "p", Manifest: true}, m.Encode())
				r := verified(t, f)
				ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Unproven)
				if !slices.Equal(absent(r), []string{"p"}) || r.ForeignCount != 1 {
					t.Errorf("absent %v, foreign %v", absent(r), r.Foreign)
				}
			})
		}
	}
}

// A run that another producer finished is sealed only when it is settled that the first
// producer sent no more events of it.
//
//guarantee:producer-silent
func TestPulse_RunOfTwo(t *testing.T) {
	for _, tt := range []struct {
		name      string
		build     func(f *ledgertest.Feed)
		open      bool
		completes verifier.Completeness
	}{
		{"Open", func(*ledgertest.Feed) {}, true, verifier.Complete},
		{"Vanished", func(f *ledgertest.Feed) { wait(f, 40*time.Minute); f.Beat("next") }, false, verifier.Unsealed},
		{"Closed", func(f *ledgertest.Feed) { f.Close("first") }, false, verifier.Complete},
		{"Lost", func(f *ledgertest.Feed) { f.Lose("next", "first") }, false, verifier.Unproven},
		{"HeardAgain", func(f *ledgertest.Feed) { f.Beat("first") }, false, verifier.Complete},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := ledgertest.NewFeed("acme")
			f.Open("first", 10*time.Minute)
			f.Open("next", 10*time.Minute)
			f.Event("first", "r1", events.RunStarted, events.RunStartedData{})
			f.Manifest("first")
			f.Event("next", "r1", events.RunFinished, events.RunFinishedData{Success: true})
			f.Seal("next", "r1")
			f.Manifest("next")
			tt.build(f)
			for _, run := range []string{"", "r1"} {
				key := ledgertest.NewKey(t)
				r := ledgertest.Verify(t, ledgertest.Write(t, t.TempDir(), key, f, 1000), key, verifier.Options{Tenant: "acme", Run: run})
				want := tt.completes
				if run != "" && tt.open {
					want = verifier.Unproven // its end is unknown
				}
				ledgertest.WantVerdicts(t, r, verifier.Verified, want)
				if tt.open != (len(r.Open) == 1) {
					t.Errorf("open runs: %v", r.Open)
				}
			}
		})
	}
}

// A time range before the silence is not affected.
func TestPulse_Window(t *testing.T) {
	f := opened()
	heard := f.Now
	wait(f, 2*time.Hour)
	key := ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 1000)
	for _, tt := range []struct {
		from, to time.Time
		want     verifier.Completeness
	}{
		{ledgertest.Began, heard.Add(-time.Nanosecond), verifier.Complete},
		{ledgertest.Began, heard.Add(time.Hour), verifier.Unproven},
		{heard.Add(time.Minute), heard.Add(time.Hour), verifier.Unproven},
	} {
		r := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme", From: tt.from, To: tt.to})
		ledgertest.WantVerdicts(t, r, verifier.Verified, tt.want)
	}
}

func TestPulse_AwaitedUntil(t *testing.T) {
	f := opened()
	f.Open("slow", time.Hour)
	f.Run("slow", "r2", 1)
	heard := f.Now
	f.Open("done", 20*time.Hour)
	f.Run("done", "r3", 1)
	f.Close("done")
	key := ledgertest.NewKey(t)
	r, err := ledger.OpenReader(ledgertest.Write(t, t.TempDir(), key, f, 1000))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	got, err := r.Activity().AwaitedUntil(t.Context())
	if want := heard.Add(3 * time.Hour); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
