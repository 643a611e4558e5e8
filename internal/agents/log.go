package agents

import (
	"context"
	"io"
	"iter"

	"github.com/hooktrail/hooktrail/internal/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Log yields the events of hook payloads that somebody has kept: one JSON array,
// or one payload per line or after the other. They are Claude Code's, or of the
// tool that the payloads look like. Ids are derived from places. A payload that
// cannot be read is reported as an *ingest.LineError and the rest goes on.
func Log(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {}
}

// CopilotEvents yields the events of a session that Copilot CLI keeps as
// events.jsonl, one JSON object per line.
func CopilotEvents(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {}
}
