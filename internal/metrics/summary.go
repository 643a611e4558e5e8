package metrics

import (
	"cmp"
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Summary contains counts over all tenants.
type Summary struct {
	Runs        int64 `json:"runs"` // ended and active
	RunsFailed  int64 `json:"runs_failed"`
	RunsActive  int64 `json:"runs_active"`
	Steps       int64 `json:"steps"`
	StepsFailed int64 `json:"steps_failed"`
	ToolCalls   int64 `json:"tool_calls"` // with and without a result
	ToolErrors  int64 `json:"tool_errors"`
	ToolsDenied int64 `json:"tools_denied"`

	ToolsInterrupted int64 `json:"tools_interrupted"`

	ToolsWaiting  int64         `json:"tools_waiting"`   // without a result
	Tools         []ToolSummary `json:"tools,omitempty"` // most used first
	TokensUsed    events.Tokens `json:"tokens_used"`
	HookFailures  int64         `json:"hook_failures"`
	StreamApplied uint64        `json:"stream_applied"` // stream sequence of the last counted message
}

// ToolSummary counts the calls of one tool.
type ToolSummary struct {
	Tool   string `json:"tool"`
	Calls  int64  `json:"calls"`
	Errors int64  `json:"errors,omitempty"`
	Denied int64  `json:"denied,omitempty"`

	Interrupted int64 `json:"interrupted,omitempty"`

	Waiting int64 `json:"waiting,omitempty"`
}

// Snapshot returns the counts in a data directory, even while another process counts. Without
// counts, the error wraps [fs.ErrNotExist].
func Snapshot(ctx context.Context, dataDir string) (Summary, error) {
	n := newSeriesSet(labelLimit)
	var position projection.Position
	err := projection.Read(ctx, statePath(dataDir), schema, func(conn *sqlite.Conn) (err error) {
		if position, err = projection.PositionOf(conn); err != nil {
			return err
		}
		return n.load(conn)
	})
	if err != nil {
		return Summary{}, err
	}
	s := summarize(n)
	s.StreamApplied = position.Sequence
	return s, nil
}

func summarize(n *seriesSet) Summary {
	var s Summary
	tools := map[string]*ToolSummary{}
	for _, one := range n.committed {
		s.add(one)
		if one.family == callsTotal || one.family == callsActive {
			name := one.labels[1]
			if tools[name] == nil {
				tools[name] = &ToolSummary{Tool: name}
			}
			tools[name].add(one)
		}
	}
	for _, t := range tools {
		if t.Calls == 0 {
			continue
		}
		s.Tools = append(s.Tools, *t)
		s.ToolCalls += t.Calls
		s.ToolErrors += t.Errors
		s.ToolsDenied += t.Denied
		s.ToolsInterrupted += t.Interrupted
		s.ToolsWaiting += t.Waiting
	}
	slices.SortFunc(s.Tools, func(a, b ToolSummary) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	return s
}

func (s *Summary) add(one *series) {
	last := one.labels[len(one.labels)-1]
	switch one.family {
	case runsTotal, runsActive:
		s.Runs += one.value
		if one.family == runsActive {
			s.RunsActive += one.value
		} else if last == failed {
			s.RunsFailed += one.value
		}
	case stepsTotal, stepsActive:
		s.Steps += one.value
		if one.family == stepsTotal && last == failed {
			s.StepsFailed += one.value
		}
	case tokensTotal:
		s.TokensUsed = s.TokensUsed.Plus(tokensOf(last, one.value))
	case hookFailures:
		s.HookFailures += one.value
	}
}

func tokensOf(kind string, n int64) events.Tokens {
	switch kind {
	case "input":
		return events.Tokens{Input: n}
	case "output":
		return events.Tokens{Output: n}
	case "cache_creation":
		return events.Tokens{CacheCreation: n}
	default:
		return events.Tokens{CacheRead: n}
	}
}

func (t *ToolSummary) add(one *series) {
	t.Calls += one.value
	switch {
	case one.family == callsActive:
		t.Waiting += one.value
	case one.labels[2] == string(events.ToolError):
		t.Errors += one.value
	case one.labels[2] == denied:
		t.Denied += one.value
	case one.labels[2] == interrupted:
		t.Interrupted += one.value
	}
}
