package verifier

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The search for a seal that also ends the run for another producer finds what a comparison of all
// pairs finds.
func TestSeals_AllPairs(t *testing.T) {
	orders := rapid.Custom(func(t *rapid.T) order {
		return order{rapid.Int64Range(1, 2).Draw(t, "epoch"), rapid.Int64Range(1, 6).Draw(t, "stream")}
	})
	senders := rapid.Custom(func(t *rapid.T) *sender {
		s := newSender(1, "p", &foreigners{})
		s.listed = rapid.Uint64Range(0, 1).Draw(t, "listed")
		s.key = rapid.SampledFrom([]string{"", "k"}).Draw(t, "key")
		s.enrolment.Enrolled = rapid.Bool().Draw(t, "enrolled")
		s.event(1, events.Hash{}, 1)
		s.state = rapid.SampledFrom([]events.State{"", events.StateOpen, events.StateClosed}).Draw(t, "state")
		s.at = orders.Draw(t, "at")
		if rapid.Bool().Draw(t, "lost") {
			s.lost = &Lost{}
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		taken := make(map[order]bool)
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *producerRun {
			p := &producerRun{by: senders.Draw(t, "by"), alive: true, aliveNo: rapid.Uint64Range(1, 3).Draw(t, "number"), aliveOrder: orders.Draw(t, "alive")}
			if at := orders.Draw(t, "seal"); rapid.Bool().Draw(t, "sealed") && !taken[at] {
				taken[at] = true // a place in the stream has one record
				p.seal, p.sealOrder = &events.RunSealedData{Last: rapid.Uint64Range(1, 3).Draw(t, "last")}, at
			}
			return p
		}), 0, 6).Draw(t, "parts")
		seals := sealsOf(parts)
		for i, p := range parts {
			want := slices.ContainsFunc(parts, func(o *producerRun) bool {
				return o != p && o.seal != nil && p.aliveOrder.before(o.sealOrder) && settles(o.by, p.by, o.sealOrder)
			})
			if got := seals.settle(p); got != want {
				t.Errorf("part %d: %v, want %v", i, got, want)
			}
		}
	})
}

// A run is named in the verdict with all of its parts, even if there are many other runs.
func TestExtents_AllParts(t *testing.T) {
	c := &completeness{producers: map[int64]*sender{1: {name: "a"}, 2: {name: "b"}}, producerRuns: make(map[producerRunKey]*producerRun)}
	for producer := int64(1); producer <= 2; producer++ {
		for run := int64(1); run <= 3; run++ {
			p := c.producerRun(producerRunKey{producer, run}, string(rune('r'+run)))
			p.alive, p.all, p.last = true, uint64(producer), uint64(10*run)
		}
	}
	var r Report
	c.runs(&r, time.Now())
	for run, name := range map[uint64]string{1: "s", 2: "t", 3: "u"} {
		want := []detail{{"part", fmt.Sprintf("1 %d a", 10*run)}, {"part", fmt.Sprintf("2 %d b", 10*run)}}
		if !slices.Equal(c.extents[name], want) {
			t.Errorf("%s: %v", name, c.extents[name])
		}
	}
}
