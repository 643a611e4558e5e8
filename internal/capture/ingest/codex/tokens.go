package codex

import (
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// usage contains the token counts of Codex. Input includes cached tokens, and output includes
// thoughts.
type usage struct {
	Input  float64 `json:"input_tokens"`
	Cached float64 `json:"cached_input_tokens"`
	Output float64 `json:"output_tokens"`
}

func (u usage) tokens() (t events.Tokens, ok bool) {
	if !ingest.AreCounts(u.Input, u.Cached, u.Output) {
		return events.Tokens{}, false
	}
	return events.Tokens{
		Input: int64(max(0, u.Input-u.Cached)), CacheRead: int64(min(u.Cached, u.Input)), Output: int64(u.Output),
	}, true
}

// tokens ignores a count that equals the previous one, because Codex repeats the count when its
// rate limits change.
func (s *session) tokens(l *line, m message) {
	added, ok := s.usage.added(m.Info.Total, m.Info.Last)
	if !ok || added == (events.Tokens{}) {
		s.custom(l, "event_msg."+m.Type)
		return
	}
	s.run.Spend(added)
	s.run.Emit(l.origin, events.ResponseCompleted, "", events.ResponseCompletedData{
		Message: l.origin.ID, Model: s.model, TokensUsed: &added, Common: raw(l.Payload),
	})
}

type tokenCount struct{ total events.Tokens }

func (c *tokenCount) added(total, last usage) (events.Tokens, bool) {
	now, ok := total.tokens()
	call, okCall := last.tokens()
	if !ok || !okCall {
		return events.Tokens{}, false
	}
	before := c.total
	c.total = now
	added := events.Tokens{Input: now.Input - before.Input, Output: now.Output - before.Output, CacheRead: now.CacheRead - before.CacheRead}
	if added.Input+added.CacheRead < 0 || added.Output < 0 || added.Input < 0 || added.CacheRead < 0 {
		return call, true
	}
	return added, true
}
