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
	for name, fill := range map[string]func(f *ledgertest.Feed, n int){
		"Missing":    missingRanges,
		"Descending": descendingNumbers,
		"NeverComes": eventsThatNeverCome,
		"LargeID":    func(f *ledgertest.Feed, n int) { smallEvents(f, 300_000*(n-1)) },
		"Resent":     func(f *ledgertest.Feed, n int) { resent(f, 50*(n-1)) },
	} {
		b.Run(name, func(b *testing.B) {
			key := ledgertest.NewKey(b)
			took := func(n int) func() time.Duration {
				f := ledgertest.NewFeed("acme")
				fill(f, n)
				return func() time.Duration {
					start := time.Now()
					path := ledgertest.Write(b, b.TempDir(), key, f, 1000)
					ledgertest.Verify(b, path, key, verifier.Options{Tenant: "acme"})
					return time.Since(start)
				}
			}
			ledgertest.Ratios(b, took(1), took(4))
		})
	}
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
