package daily

import (
	"context"
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// judged are the kinds of events with a hook verdict.
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
		}
		if len(f.Kinds) < maxKinds {
			f.Kinds = append(f.Kinds, k)
		} else {
			f.OtherKinds += k.Count
		}
	}
	return err
}

// read counts finished runs and denied actions in the payloads, so it skips erased records.
func (f *Facts) read(ctx context.Context, r *ledger.Reader, during ledger.Stored) error {
	for e, err := range r.StoredEvents(ctx, during, append([]events.Kind{events.RunFinished}, judged...)...) {
		if err != nil {
			return err
		}
		if e.Kind == events.RunFinished {
			f.finished(e)
		} else {
			f.denied(e)
		}
	}
	return nil
}

func (f *Facts) finished(e ledger.Entry) {
	event, err := events.Decode(e.Bytes)
	if err != nil {
		return
	}
	switch d, err := events.Payload[events.RunFinishedData](event); {
	case err != nil:
	case d.Status() == events.RunCompleted:
		f.Finished.Succeeded++
	case d.Status() == events.RunFailed:
		f.Finished.Failed++
	default:
		f.Finished.CutOff++
	}
}

func (f *Facts) denied(e ledger.Entry) {
	event, err := events.Decode(e.Bytes)
	if err != nil || !event.Denies() {
		return
	}
	var d struct {
		Tool string `json:"tool"`
	}
	_ = json.Unmarshal(event.Data, &d) // the name stays empty if it is not a text
	if f.DeniedCount++; len(f.Denied) < maxCalls {
		f.Denied = append(f.Denied, Denied{
			Leaf: e.Leaf, Time: e.Time, Kind: e.Kind, Run: e.Run, Agent: event.Agent, Tool: d.Tool, ToolCall: event.ToolCall,
		})
	}
}
