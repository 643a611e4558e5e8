package verifier

import (
	"cmp"
	"math"
	"slices"

	"zombiezen.com/go/sqlite"
)

// gapTimes are the earliest and the latest time at which the missing events would have been stored,
// in nanoseconds.
type gapTimes struct{ after, until int64 }

func (w *window) timesOf(gaps []Gap) ([]gapTimes, error) {
	times := make([]gapTimes, len(gaps))
	byProducer := make(map[string][]int)
	for i, g := range gaps {
		byProducer[g.Producer] = append(byProducer[g.Producer], i)
	}
	for name, list := range byProducer {
		b := newBorders(gaps, list, times)
		if s := w.senders[name]; s != nil {
			err := w.each(`SELECT leaf, stream, sequence, stored, class = 'manifest', epoch FROM leaves
				WHERE producer = ?1 AND class IN ('event', 'conflict', 'manifest')
				UNION ALL SELECT leaf, stream, sequence, stored, 0, epoch FROM seen WHERE producer = ?1 ORDER BY 3, 6, 2`,
				func(stmt *sqlite.Stmt) error {
					b.record(uint64(stmt.ColumnInt64(2)), stmt.ColumnInt64(3), stmt.ColumnBool(4))
					return nil
				}, s.number)
			if err != nil {
				return nil, err
			}
		}
		b.begin(math.MaxUint64)
	}
	for i, t := range times {
		// The event before the gap may have arrived later than the event after the gap.
		times[i].after = min(t.after, t.until)
	}
	return times, nil
}

type borders struct {
	gaps  []Gap
	times []gapTimes

	beginning []int // gaps that begin after the records so far, by first number
	ending    []int // gaps without a later event so far, by last number
	reaching  []int // gaps without a manifest so far that reaches their end, by last number

	last, stored int64 // number and time of the last event, where only the first one with a number counts
}

func newBorders(gaps []Gap, list []int, times []gapTimes) *borders {
	byFirst := func(i, j int) int { return cmp.Compare(gaps[i].First, gaps[j].First) }
	byLast := func(i, j int) int { return cmp.Compare(gaps[i].Last, gaps[j].Last) }
	for _, i := range list {
		times[i].until = math.MaxInt64
	}
	ending := slices.SortedFunc(slices.Values(list), byLast)
	return &borders{gaps: gaps, times: times, beginning: slices.SortedFunc(slices.Values(list), byFirst), ending: ending, reaching: ending}
}

func (b *borders) record(number uint64, stored int64, isManifest bool) {
	if isManifest {
		for ; len(b.reaching) > 0 && b.gaps[b.reaching[0]].Last <= number; b.reaching = b.reaching[1:] {
			t := &b.times[b.reaching[0]]
			t.until = min(t.until, stored)
		}
		return
	}
	b.begin(number)
	for ; len(b.ending) > 0 && b.gaps[b.ending[0]].Last < number; b.ending = b.ending[1:] {
		t := &b.times[b.ending[0]]
		t.until = min(t.until, stored)
	}
	if int64(number) > b.last {
		b.last, b.stored = int64(number), stored
	}
}

func (b *borders) begin(number uint64) {
	for ; len(b.beginning) > 0 && b.gaps[b.beginning[0]].First <= number; b.beginning = b.beginning[1:] {
		b.times[b.beginning[0]].after = b.stored
	}
}
