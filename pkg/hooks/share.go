package hooks

import "time"

// share divides the time of a dispatch if its hooks together could need more.
type share struct {
	crowded bool
	limit   time.Duration // until the end of the chain or of the caller's context
	others  int           // hooks without Last that have not begun
	judges  int           // hooks with Last that have not begun
	judging time.Duration // reserved for all hooks with Last
}

// leftForEach is the time that a slow hook leaves to each later hook.
const leftForEach = time.Second

func (f *dispatch) divide() {
	limit := f.registry.opts.ChainTimeout
	if d, ok := f.ctx.Deadline(); ok {
		limit = min(limit, max(d.Sub(f.began), 0))
	}
	f.interval = 0
	if f.chain == nil {
		return
	}
	f.interval = f.chain.shortest
	if f.chain.total <= limit {
		return
	}
	s := share{crowded: true, limit: limit}
	for _, h := range f.chain.hooks {
		switch {
		case !h.applies(&f.meta, f.tool, f.ending):
		case h.last:
			s.judges++
			s.judging = min(max(s.judging, h.timeout), limit/2)
		default:
			s.others++
		}
	}
	f.share = s
	// A hook is noticed within an interval after it begins, which is much shorter than its share.
	f.interval = min(f.interval, max(limit/1024, time.Millisecond))
}

// end returns the end of the time of h, so that each later hook has time left. Hooks with Last share
// the longest of their timeouts, at most half of the whole.
func (s *share) end(h *hook, now time.Duration) time.Duration {
	end := now + h.timeout
	if !s.crowded {
		return end
	}
	until, waiting := s.limit, &s.judges
	if !h.last {
		until, waiting = s.limit-s.judging, &s.others
	}
	*waiting--
	later := *waiting
	if later == 0 && s.judges == 0 {
		return end
	}
	left := max(until-now, 0)
	if later > 0 {
		left = max(left/2, left-time.Duration(later)*leftForEach)
	}
	return min(end, now+left)
}
