package daily

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var judged = []events.Kind{ //nolint:gochecknoglobals // a constant
	events.ToolBefore, events.Approval, events.PromptSubmit, events.SessionStart, events.SubagentStart, events.CompactBefore,
	events.Error, events.StepBefore, events.MessagesFilter, events.LLMRequest, events.MessageCreate, events.MessageUpdate,
	events.ToolResult, events.ToolResultStore, events.StepOutput,
}

func factsOf(ctx context.Context, r *ledger.Reader, v verifier.Report, c ledger.Checkpoint) (*Facts, error) {
	f := &Facts{Kinds: []ledger.KindCount{}, Denied: []Denied{}, Uses: []access.Use{}, Orders: []Order{}}
	during := ledger.Stored{From: v.From, To: v.To, Before: c.Size}
	if err := f.count(ctx, r, during); err != nil {
		return nil, err
	}
	var err error
	if f.Checkpoints, err = r.Activity().Checkpoints(ctx, during, c.Number); err != nil {
		return nil, err
	}
	if err := f.read(ctx, r, during); err != nil {
		return nil, err
	}
	return f, coverageOf(ctx, r, v, f, c.Size)
}

func (f *Facts) count(ctx context.Context, r *ledger.Reader, during ledger.Stored) error {
	counts, err := r.Activity().Kinds(ctx, during)
	for _, k := range counts {
		f.Records += k.Count
		if k.Class == ledger.ClassEvent {
			f.Events += k.Count
			if k.Kind == events.RunFinished {
				f.Finished.NotCounted = k.Count // until read counts them
			}
		}
		if len(f.Kinds) < maxKinds {
			f.Kinds = append(f.Kinds, k)
		} else {
			f.OtherKinds += k.Count
		}
	}
	return err
}

func (f *Facts) read(ctx context.Context, r *ledger.Reader, during ledger.Stored) error {
	counted := make(map[callID]bool)
	for e, err := range r.StoredEvents(ctx, during, append([]events.Kind{events.RunFinished}, judged...)...) {
		if err != nil {
			return err
		}
		event, err := events.Decode(e.Bytes)
		switch {
		case err != nil:
		case e.Kind == events.RunFinished:
			f.Finished.add(event)
		case event.Denies():
			counted[callID{e.Run, event.ToolCall}] = event.ToolCall != ""
			f.deny(e, event, "", maxCalls)
		}
	}
	limit := len(f.Denied) + maxCalls
	for e, err := range r.StoredEvents(ctx, during, events.ToolResult) {
		if err != nil {
			return err
		}
		f.refused(e, counted, limit)
	}
	slices.SortFunc(f.Denied, func(a, b Denied) int { return cmp.Compare(a.Leaf, b.Leaf) })
	f.Denied = f.Denied[:min(len(f.Denied), maxCalls)]
	return nil
}

type callID struct{ run, call string }

func (f *Facts) refused(e ledger.Entry, counted map[callID]bool, limit int) {
	event, err := events.Decode(e.Bytes)
	id := callID{e.Run, event.ToolCall}
	if err != nil || event.Denies() || counted[id] {
		return
	}
	if d, err := events.Payload[events.ToolResultData](event); err == nil && d.Status == events.ToolDenied {
		counted[id] = id.call != ""
		f.deny(e, event, d.DeniedBy, limit)
	}
}

func (f *Finished) add(event events.Event) {
	d, err := events.Payload[events.RunFinishedData](event)
	if err != nil {
		return
	}
	f.NotCounted--
	switch d.Status() {
	case events.RunCompleted:
		f.Succeeded++
	case events.RunFailed:
		f.Failed++
	case events.RunInterrupted, events.RunUnknown:
		f.CutOff++
	}
}

func (f *Facts) deny(e ledger.Entry, event events.Event, by events.DeniedBy, limit int) {
	var d struct {
		Tool string `json:"tool"`
	}
	_ = json.Unmarshal(event.Data, &d) // the name stays empty if it is not a text
	if f.DeniedCount++; len(f.Denied) < limit {
		f.Denied = append(f.Denied, Denied{
			Leaf: e.Leaf, Time: e.Time, Kind: e.Kind, Run: e.Run, Agent: event.Agent, Tool: d.Tool, ToolCall: event.ToolCall, By: by,
		})
	}
}
