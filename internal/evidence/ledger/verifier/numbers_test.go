package verifier

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The set has the same numbers as a plain map, and its ranges are ascending with gaps between them.
func FuzzNumbers(f *testing.F) {
	f.Add(uint64(1), uint16(3000), uint16(4000))
	f.Add(uint64(2), uint16(2500), uint16(60000))
	f.Fuzz(func(t *testing.T, seed uint64, count, limit uint16) {
		r, set, want := rand.New(rand.NewPCG(seed, 1)), numbers{}, make(map[uint64]bool)
		for i := range count {
			n := 1 + r.Uint64N(uint64(limit)+1)
			if seed%3 == 0 {
				n = 2 * uint64(count-i) // descending
			}
			if set.add(n) == want[n] {
				t.Fatalf("add %d: %t", n, want[n])
			}
			want[n] = true
		}
		last := uint64(0)
		for _, r := range set.ranges() {
			if last > 0 && r.First <= last+1 || r.Last < r.First {
				t.Fatalf("ranges %v", set.ranges())
			}
			last = r.Last
			for n := r.First; n <= r.Last; n++ {
				if !want[n] {
					t.Fatalf("%d was not added", n)
				}
				delete(want, n)
			}
		}
		if len(want) > 0 {
			t.Fatalf("%d numbers are lost", len(want))
		}
	})
}

// Each lost number belongs to the first record that declares it.
func FuzzLosses(f *testing.F) {
	f.Add(uint64(1), uint8(12))
	f.Add(uint64(7), uint8(200))
	f.Fuzz(func(t *testing.T, seed uint64, count uint8) {
		r, s := rand.New(rand.NewPCG(seed, 1)), sender{name: "p"}
		draw := func(reason string) events.Range {
			first := r.Uint64N(300)
			return events.Range{First: first, Last: first + r.Uint64N(40), Reason: reason}
		}
		for range count {
			s.received.add(1 + r.Uint64N(400))
			if r.IntN(2) == 0 {
				s.recorded = append(s.recorded, draw(string(rune('a'+r.IntN(20)))))
			} else {
				s.missing = append(s.missing, draw(string(rune('A'+r.IntN(20)))))
			}
		}
		next, last := uint64(1), s.received.highest()+3
		for _, g := range s.lacking(last) {
			if g.First < next || g.Last < g.First || g.Last > last {
				t.Fatalf("gap %+v after number %d", g, next-1)
			}
			checkReceived(t, &s, next, g.First)
			for n := g.First; n <= g.Last; n++ {
				cause, reason := declared(&s, n)
				if contains(s.received.ranges(), n) || g.Cause != cause || g.Reason != reason {
					t.Fatalf("number %d in gap %+v, want cause %s, reason %q", n, g, cause, reason)
				}
			}
			next = g.Last + 1
		}
		checkReceived(t, &s, next, last+1)
	})
}

func checkReceived(t *testing.T, s *sender, first, end uint64) {
	t.Helper()
	for n := first; n < end; n++ {
		if !contains(s.received.ranges(), n) {
			t.Fatalf("number %d is in no gap", n)
		}
	}
}

func declared(s *sender, n uint64) (Cause, string) {
	has := func(r events.Range) bool { return r.First <= n && n <= r.Last }
	if i := slices.IndexFunc(s.recorded, has); i >= 0 {
		return CauseRecorded, s.recorded[i].Reason
	}
	if i := slices.IndexFunc(s.missing, has); i >= 0 {
		return CauseProducer, s.missing[i].Reason
	}
	return CauseStream, ""
}

// The times of gaps come from the nearest event below, and from the nearest event above or the
// lowest manifest that reaches the end.
func FuzzBorders(f *testing.F) {
	f.Add(uint64(1), uint8(5), uint8(9))
	f.Add(uint64(2), uint8(90), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, gapCount, rowCount uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		type row struct {
			number     uint64
			stored     int64
			isManifest bool
		}
		var gaps []Gap
		var rows []row
		var list []int
		for i := range int(gapCount) {
			first := 1 + r.Uint64N(50)
			gaps, list = append(gaps, Gap{First: first, Last: first + r.Uint64N(9)}), append(list, i)
		}
		for range rowCount {
			rows = append(rows, row{1 + r.Uint64N(60), r.Int64N(1000), r.IntN(3) == 0})
		}
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.number, b.number) })
		times := make([]gapTimes, len(gaps))
		b := newBorders(gaps, list, times)
		for _, x := range rows {
			b.record(x.number, x.stored, x.isManifest)
		}
		b.begin(math.MaxUint64)
		for i, g := range gaps {
			want := gapTimes{until: math.MaxInt64}
			below, event, manifest := uint64(0), false, false
			for _, x := range rows {
				switch {
				case x.isManifest && x.number >= g.Last && !manifest:
					manifest, want.until = true, min(want.until, x.stored)
				case !x.isManifest && x.number < g.First && x.number > below:
					below, want.after = x.number, x.stored
				case !x.isManifest && x.number > g.Last && !event:
					event, want.until = true, min(want.until, x.stored)
				}
			}
			if times[i] != want {
				t.Fatalf("gap %d to %d: %+v, want %+v", g.First, g.Last, times[i], want)
			}
		}
	})
}
