package verifier

import (
	"math"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type loss struct {
	events.Range
	cause Cause
}

func (s *sender) losses() (list []loss) {
	for _, r := range s.recorded {
		r.Last = min(r.Last, math.MaxInt64)
		list = append(list, loss{r, CauseRecorded})
	}
	for _, r := range s.missing {
		list = append(list, loss{r, CauseProducer})
	}
	return flattened(list)
}

// flattened splits overlapping ranges, so that each lost number belongs only to the first range in
// list that contains it.
func flattened(list []loss) (all []loss) {
	var bounds []uint64
	for _, l := range list {
		bounds = append(bounds, l.First, l.Last+1)
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	owner := make([]int, len(bounds))  // owner of the range from each bound, as an index in list plus 1
	behind := make([]int, len(bounds)) // a later bound, if all bounds before it have an owner
	free := func(i int) int {          // first bound from i on that has no owner
		for ; owner[i] > 0; i = behind[i] {
			if next := behind[i]; owner[next] > 0 {
				behind[i] = behind[next]
			}
		}
		return i
	}
	for n, l := range list {
		first, _ := slices.BinarySearch(bounds, l.First)
		for i := free(first); bounds[i] <= l.Last; i = free(i) {
			owner[i], behind[i] = n+1, i+1
		}
	}
	for i := 0; i < len(bounds); i++ {
		if owner[i] == 0 {
			continue
		}
		l := list[owner[i]-1]
		l.First = bounds[i]
		for i+1 < len(bounds) && owner[i+1] == owner[i] {
			i++
		}
		l.Last = bounds[i+1] - 1
		all = append(all, l)
	}
	return all
}

// maxReason limits the reason of a gap, in bytes, because a client chooses this text.
const maxReason = 200

func shortReason(text string) string {
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + "…"
}

func (s *sender) lacking(last uint64) (gaps []Gap) {
	losses, next := s.losses(), uint64(1)
	for _, r := range append(slices.Clone(s.received.ranges()), events.Range{First: last + 1}) {
		for ; next < r.First; next = gaps[len(gaps)-1].Last + 1 {
			g := Gap{Producer: s.name, First: next, Last: r.First - 1, Cause: CauseStream}
			for len(losses) > 0 && losses[0].Last < next {
				losses = losses[1:]
			}
			if len(losses) > 0 && losses[0].First <= next {
				g.Cause, g.Reason, g.Last = losses[0].cause, shortReason(losses[0].Reason), min(g.Last, losses[0].Last)
			} else if len(losses) > 0 {
				g.Last = min(g.Last, losses[0].First-1)
			}
			gaps = append(gaps, g)
		}
		next = r.Last + 1
	}
	return gaps
}
