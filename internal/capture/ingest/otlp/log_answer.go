package otlp

import (
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (r *reader) answer(m *made, c *record) {
	duration, _ := c.a.number("duration_ms")
	m.emit(r, c, events.ResponseCompleted, events.ResponseCompletedData{
		Message: c.id, Model: c.a.text("model", "slug"), DurationMS: bounded(duration), Telemetry: true,
		TokensUsed: c.tokens(), Cost: ingest.Told(c.a.fraction("cost_usd")), Common: events.Common{Raw: c.raw},
	})
}

func (c *record) tokens() *events.Tokens {
	n := func(names ...string) int64 {
		count, _ := c.a.number(names...)
		return bounded(count)
	}
	t := &events.Tokens{
		Input: n("input_tokens", "input_token_count"), Output: n("output_tokens", "output_token_count"),
		CacheRead: n("cache_read_tokens", "cached_content_token_count", "cached_token_count"), CacheCreation: n("cache_creation_tokens"),
	}
	if c.tool == claude.Source {
		return t
	}
	t.Input = max(0, t.Input-t.CacheRead)
	if c.tool == gemini.Source {
		t.Output = bounded(t.Output + n("thoughts_token_count"))
	}
	return t
}
