package codex

import (
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// usage are token counts as Codex has them: those read from a cache are among
// the input, those of thoughts among the output.
type usage struct {
	Input  float64 `json:"input_tokens"`
	Cached float64 `json:"cached_input_tokens"`
	Output float64 `json:"output_tokens"`
}

func (u usage) tokens() (t events.Tokens, ok bool) {
	for _, n := range []float64{u.Input, u.Cached, u.Output} {
		if n < 0 || n > ingest.MaxCount {
			return events.Tokens{}, false
		}
	}
	return events.Tokens{
		Input: int64(max(0, u.Input-u.Cached)), CacheRead: int64(min(u.Cached, u.Input)), Output: int64(u.Output),
	}, true
}

// tokens counts what an API call added to the tokens of the session. Codex
// repeats its counts whenever its rate limits change: those add nothing.
func (s *session) tokens(l *line, m message) {
	added, ok := s.added(m.Info.Total, m.Info.Last)
	if !ok || added == (events.Tokens{}) {
		s.custom(l, "event_msg."+m.Type)
		return
	}
	s.run.Spend(added)
	s.run.Emit(l.place, events.ResponseCompleted, "", events.ResponseCompletedData{
		Message: l.place.ID, Model: s.model, TokensUsed: &added, Common: raw(l.Payload),
	})
}

// added returns what total has more than the total before. Totals that became
// smaller began anew: then it is last, what the call itself used.
func (s *session) added(total, last usage) (events.Tokens, bool) {
	now, ok := total.tokens()
	call, okCall := last.tokens()
	if !ok || !okCall {
		return events.Tokens{}, false
	}
	before := s.total
	s.total = now
	added := events.Tokens{Input: now.Input - before.Input, Output: now.Output - before.Output, CacheRead: now.CacheRead - before.CacheRead}
	if added.Input+added.CacheRead < 0 || added.Output < 0 || added.Input < 0 || added.CacheRead < 0 {
		return call, true
	}
	return added, true
}
