package verifier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// BenchmarkHostile compares writing and verifying what a hostile client sent with a quarter of it.
// The goal is a ratio of 0.12 or more, because linear time gives 0.25. LargeID and Resent compare
// with a client that is not hostile, and their goal is 0.1.
func BenchmarkHostile(b *testing.B) {
	whole := verifier.Options{Tenant: "acme"}
	window := verifier.Options{Tenant: "acme", From: ledgertest.Began.Add(-time.Hour)}
	for name, of := range map[string]struct {
		fill func(f *ledgertest.Feed, n int)
		opts verifier.Options
	}{
		"Missing":         {missingRanges, whole},
		"Descending":      {descendingNumbers, whole},
		"NeverComes":      {eventsThatNeverCome, whole},
		"LargeID":         {func(f *ledgertest.Feed, n int) { smallEvents(f, 300_000*(n-1)) }, whole},
		"Resent":          {func(f *ledgertest.Feed, n int) { resent(f, 50*(n-1)) }, whole},
		"OneNumber":       {oneNumber, whole},
		"Undecodable":     {undecodable, whole},
		"Manifests":       {manifestsOfOneNumber, whole},
		"Contents":        {contentsListedAgain, whole},
		"Skipped":         {skippedManifests, whole},
		"WindowGaps":      {descendingNumbers, window},
		"WindowProducers": {manyProducers, window},
		"UnsealedRuns":    {unsealedRuns, verifier.Options{Tenant: "acme", Silence: 1}},
		"WindowRuns":      {unsealedRuns, verifier.Options{Tenant: "acme", From: window.From, Silence: 1}},
		"PartsOfRun":      {partsOfRun, whole},
	} {
		b.Run(name, func(b *testing.B) {
			key := ledgertest.NewKey(b)
			took := func(n int) func() time.Duration {
				f := ledgertest.NewFeed("acme")
				of.fill(f, n)
				return func() time.Duration {
					start := time.Now()
					path := ledgertest.Write(b, b.TempDir(), key, f, 1000)
					ledgertest.Verify(b, path, key, of.opts)
					return time.Since(start)
				}
			}
			ledgertest.Ratios(b, took(1), took(4))
		})
	}
}

// ghostly adds an event with a number and producer of the sender's choice.
func ghostly(f *ledgertest.Feed, producer string, sequence uint64, i int) {
	e := events.Event{
		ID: fmt.Sprint("id", i), Type: events.Custom.Type(), Source: "/forged", Data: fmt.Appendf(nil, `{"name":"%d"}`, i), Tenant: "acme",
		Producer: producer, Sequence: sequence, Salt: "c2FsdHNhbHRzYWx0c2FsdA", Time: f.Now,
	}
	f.Add(subjects.Address{Tenant: "acme", Producer: producer, Kind: e.Kind()}, e.Encode())
}

func oneNumber(f *ledgertest.Feed, n int) {
	for i := range 2000 * n {
		ghostly(f, "ghost", 1, i)
	}
}

func undecodable(f *ledgertest.Feed, n int) {
	for i := range 2000 * n {
		f.Add(subjects.Address{Tenant: "acme", Producer: "ghost", Kind: events.Custom}, fmt.Appendf(nil, "%d", i))
	}
}

func manifestsOfOneNumber(f *ledgertest.Feed, n int) {
	for i := range 2000 * n {
		f.AddManifest(events.Manifest{
			Version: 1, Tenant: "acme", Producer: "ghost", First: 1, Last: 1, Count: 1, Root: events.HashOf(fmt.Append(nil, i)).String(),
		})
	}
}

// contentsListedAgain adds many contents of one number, which many manifests list again.
func contentsListedAgain(f *ledgertest.Feed, n int) {
	f.Sign("p")
	f.Event("p", "", events.Custom, events.CustomData{Name: "x"})
	f.Manifest("p")
	m, _ := lastManifest(f)
	for i := range 1000 * n {
		ghostly(f, "p", 1, i)
	}
	for i := range 120 * n {
		m.State, m.Interval = events.StateOpen, uint64(1+i)*1000
		f.AddManifest(ledgertest.Sign(m, ledgertest.ProducerKey("p")))
	}
}

// skippedManifests adds manifests that skip numbers, while many events wait for a manifest.
func skippedManifests(f *ledgertest.Feed, n int) {
	for i := range 8000 * n {
		ghostly(f, "ghost", uint64(1<<40+2*i), i)
	}
	for i := range uint64(1000 * n) {
		f.AddManifest(events.Manifest{
			Version: 1, Tenant: "acme", Producer: "ghost", First: 2*i + 2, Last: 2*i + 2, Missing: []events.Range{{First: 2*i + 2, Last: 2*i + 2}},
			Root: events.BatchRoot(nil).String(),
		})
	}
}

func manyProducers(f *ledgertest.Feed, n int) {
	for i := range 2000 * n {
		ghostly(f, fmt.Sprint("ghost", i), 2, i)
	}
}

// prompt adds a prompt, which requires a seal.
func prompt(f *ledgertest.Feed, producer, run string, i int) {
	e := events.Event{
		ID: fmt.Sprint("id", i), Type: events.PromptSubmit.Type(), Source: "/forged", Data: []byte(`{"prompt":"x"}`), Tenant: "acme", Run: run, Subject: run,
		Producer: producer, Sequence: uint64(i + 1), Salt: "c2FsdHNhbHRzYWx0c2FsdA", Time: f.Now,
	}
	f.Add(subjects.Address{Tenant: "acme", Producer: producer, Run: run, Kind: e.Kind()}, e.Encode())
}

func unsealedRuns(f *ledgertest.Feed, n int) {
	for i := range 4000 * n {
		prompt(f, "ghost", fmt.Sprint("r", i), i)
	}
}

// partsOfRun adds a run of many producers. Half of them seal it early, and so only the last seal ends
// it for the others.
func partsOfRun(f *ledgertest.Feed, n int) {
	n *= 2000
	f.Open("first", time.Hour)
	for i := range n {
		f.Event(fmt.Sprint("s", i), "r", events.RunSealed, events.RunSealedData{})
	}
	for i := range n {
		prompt(f, fmt.Sprint("p", i), "r", i)
	}
	f.Run("last", "r", 1)
}

// missingRanges adds manifests of many missing ranges.
func missingRanges(f *ledgertest.Feed, n int) {
	prev, number := "", uint64(1)
	for range 2 * n {
		m := events.Manifest{Version: 1, Tenant: "acme", Producer: "ghost", First: number, Prev: prev, Root: events.BatchRoot(nil).String()}
		for range 20_000 {
			m.Missing = append(m.Missing, events.Range{First: number, Last: number})
			number++
		}
		m.Last = number - 1
		data := m.Encode()
		prev = events.HashOf(data).String()
		f.Add(subjects.Address{Tenant: "acme", Producer: "ghost", Manifest: true}, data)
	}
}

func descendingNumbers(f *ledgertest.Feed, n int) {
	n *= 10_000
	e := events.Event{Type: events.Custom.Type(), Source: "/forged", Data: []byte(`{"name":"x"}`)}
	for i := range n {
		e.ID, e.Tenant, e.Producer, e.Time = fmt.Sprint(i), "acme", "ghost", f.Now
		e.Sequence, e.Salt = uint64(2*(n-i)), "c2FsdHNhbHRzYWx0c2FsdA"
		f.Add(subjects.Address{Tenant: "acme", Producer: "ghost", Kind: e.Kind()}, e.Encode())
	}
}

func eventsThatNeverCome(f *ledgertest.Feed, n int) {
	const count = 1<<17 + 1
	for i := range uint64(1000 * n) {
		f.AddManifest(events.Manifest{
			Version: 1, Tenant: "acme", Producer: "ghost", First: i*count + 1, Last: (i + 1) * count, Count: count,
			Root: events.BatchRoot(nil).String(),
		})
	}
}

// smallEvents adds events with the id of an event of size bytes.
func smallEvents(f *ledgertest.Feed, size int) {
	e := events.Event{ID: "large", Type: events.Custom.Type(), Source: "/forged", Data: []byte(`{"name":"x","list":[` + strings.Repeat(`1,`, size/2) + `1]}`)}
	f.Publish("ghost", e)
	for i := range 500 {
		e.Data = fmt.Appendf(nil, `{"name":"%d"}`, i)
		f.Publish("ghost", e)
	}
}

// resent adds a producer that lists the same numbers again and again.
func resent(f *ledgertest.Feed, again int) {
	f.Sign("p")
	for range 20_000 {
		f.Event("p", "", events.Custom, events.CustomData{Name: "x"})
	}
	f.Manifest("p")
	m, _ := lastManifest(f)
	for i := range again {
		m.State, m.Interval = events.StateOpen, uint64(1+i)*1000
		f.AddManifest(ledgertest.Sign(m, ledgertest.ProducerKey("p")))
	}
}
