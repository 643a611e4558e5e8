package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type runFold struct {
	sum       RunSummary
	tokens    map[string]events.Tokens // by response
	telemetry map[string]events.Tokens // by response that telemetry reports
	costs     map[string]float64       // US dollars that each response states
	steps     map[string]stepEnd
	calls     map[string]string // name of the tool, by call id
	results   map[string]events.ToolStatus
	denied    map[string]bool // calls that hooks denied
	end       *events.RunEnd
	billed    *events.RunEnd // the latest end with a cost
	active    time.Time      // of the latest event that is not an end
	anonymous int
	subagents map[string]bool
	prompted  time.Time // when Prompt was submitted
	model     string    // of the latest response
	removal   removedRun
}

func newRunFold(tenant, run string) *runFold {
	return &runFold{
		sum: RunSummary{
			Run: run, Tenant: tenant, Kinds: make(map[events.Kind]int),
			Steps: make(map[events.StepStatus]int), ToolCallsByName: make(map[string]int),
		},
		tokens: make(map[string]events.Tokens), steps: make(map[string]stepEnd),
		calls: make(map[string]string), results: make(map[string]events.ToolStatus), denied: make(map[string]bool), subagents: make(map[string]bool),
		costs: make(map[string]float64),
	}
}

func (f *runFold) addEntry(entry Entry) error {
	if entry.Removal.Done() {
		f.addRemoved(entry)
		return nil
	}
	e, err := events.Decode(entry.Bytes)
	if err != nil {
		return fmt.Errorf("leaf %d: %w", entry.Leaf, err)
	}
	f.add(e)
	return nil
}

func (f *runFold) add(e events.Event) {
	k := e.Kind()
	if !IsServiceRecord(k) {
		f.attributes(e)
		f.activity(k, e.Time)
	}
	f.sum.Events++
	f.sum.Kinds[k]++
	f.sum.Sealed = k == events.RunSealed || f.sum.Sealed && IsServiceRecord(k)
	if add, ok := folds[k]; ok {
		add(f, e)
	}
}

func (f *runFold) addRemoved(e Entry) {
	f.removal.add(e)
	f.sum.Removed++
	f.sum.Events++
	f.sum.Kinds[e.Kind]++
	if !IsServiceRecord(e.Kind) {
		f.attributes(events.Event{Time: e.Time})
		f.activity(e.Kind, e.Time)
		f.sum.Sealed = false
	}
}

var folds = map[events.Kind]func(*runFold, events.Event){
	events.RunStarted:        decoded((*runFold).runStarted),
	events.SessionStart:      decoded((*runFold).sessionStart),
	events.PromptSubmit:      decoded((*runFold).promptSubmit),
	events.RunFinished:       decoded((*runFold).runFinished),
	events.StepFinished:      decoded((*runFold).stepFinished),
	events.ToolBefore:        (*runFold).toolBefore,
	events.ToolResult:        decoded((*runFold).toolResult),
	events.Approval:          decoded((*runFold).approval),
	events.ResponseCompleted: decoded((*runFold).responseCompleted),
	events.SubagentStart:     decoded((*runFold).subagentStart),
	events.Error:             func(f *runFold, _ events.Event) { f.sum.Errors++ },
}

func decoded[T any](add func(*runFold, events.Event, T)) func(*runFold, events.Event) {
	return func(f *runFold, e events.Event) {
		if d, err := events.Payload[T](e); err == nil {
			add(f, e, d)
		}
	}
}

func (f *runFold) addAltered(e Entry) {
	f.sum.Altered++
	f.sum.Events++
	f.sum.Kinds[e.Kind]++
	if !IsServiceRecord(e.Kind) {
		f.attributes(events.Event{Time: e.Time})
	}
}

func (f *runFold) attributes(e events.Event) {
	s := &f.sum
	s.addTime(e)
	for _, a := range [...]struct {
		have *string
		from string
	}{
		{&s.Session, e.Session}, {&s.ParentRun, e.ParentRun}, {&s.Agent, e.Agent}, {&s.Source, e.Source}, {&s.User, e.User},
	} {
		if *a.have == "" {
			*a.have = a.from
		}
	}
}

func (f *runFold) activity(k events.Kind, at time.Time) {
	if k != events.RunFinished && k != events.Custom && at.After(f.active) {
		f.active = at
	}
}

func (f *runFold) lastEnd() *events.RunFinishedData {
	if f.end == nil || f.end.GoesOn(f.active) {
		return nil
	}
	return f.sum.Finished
}

func (s *RunSummary) addTime(e events.Event) {
	s.First, s.Last = span(s.First, s.Last, e.Time)
	if e.Untimed() {
		s.Untimed++
		return
	}
	s.Started, s.Ended = span(s.Started, s.Ended, e.Time)
}

func span(first, last, at time.Time) (from, to time.Time) {
	if !at.IsZero() && (first.IsZero() || at.Before(first)) {
		first = at
	}
	if at.After(last) {
		last = at
	}
	return first, last
}

func (f *runFold) runStarted(_ events.Event, d events.RunStartedData) {
	s := &f.sum
	s.Title, s.Model, s.Cwd = cmp.Or(d.Title, s.Title), cmp.Or(d.Model, s.Model), cmp.Or(s.Cwd, d.Cwd)
	if branch, ok := d.Metadata["git_branch"].(string); ok {
		s.Branch = cmp.Or(s.Branch, branch)
	}
}

func (f *runFold) promptSubmit(e events.Event, d events.PromptSubmitData) {
	if f.sum.Prompt == "" || e.Time.Before(f.prompted) {
		f.sum.Prompt, f.prompted = clipPrompt(d.Prompt), e.Time
	}
}

func (f *runFold) sessionStart(_ events.Event, d events.SessionStartData) {
	if f.sum.Model == "" {
		f.sum.Model = d.Model
	}
}

func (f *runFold) runFinished(e events.Event, d events.RunFinishedData) {
	end := &events.RunEnd{ID: e.ID, Source: e.Source, Time: e.Time, Data: d}
	if d.Cost != nil && (f.billed == nil || end.Compare(*f.billed) > 0) {
		f.billed = end
	}
	if f.end == nil || end.Compare(*f.end) > 0 {
		f.end, f.sum.Finished = end, &d
	}
}

// toolBefore also counts calls with an invalid payload, because the command run show lists them.
func (f *runFold) toolBefore(e events.Event) {
	d, _ := events.Payload[events.ToolBeforeData](e)
	key := f.key(e.ToolCall)
	f.calls[key] = events.ToolName(f.calls[key], d.Tool)
	f.denied[key] = f.denied[key] || d.Verdict == events.VerdictDeny
}

func (f *runFold) approval(e events.Event, d events.ApprovalData) {
	if e.ToolCall != "" && d.Verdict == events.VerdictDeny {
		f.denied[e.ToolCall] = true
	}
}

func (f *runFold) toolResult(e events.Event, d events.ToolResultData) {
	key := f.key(e.ToolCall)
	f.results[key] = f.results[key].Stronger(d.Status)
}

func (f *runFold) responseCompleted(_ events.Event, d events.ResponseCompletedData) {
	if d.Model != events.SyntheticModel {
		f.model = cmp.Or(d.Model, f.model)
	}
	key := f.key(d.Message)
	if d.Cost != nil {
		f.costs[key] = d.Cost.USD
	}
	if d.Telemetry {
		f.reported(key, d.TokensUsed)
		return
	}
	if d.TokensUsed != nil {
		f.tokens[key] = *d.TokensUsed
	} else if _, ok := f.tokens[key]; !ok {
		f.tokens[key] = events.Tokens{}
	}
}

func (f *runFold) subagentStart(_ events.Event, d events.SubagentStartData) {
	f.subagents[d.Subagent] = true
}

func (f *runFold) key(id string) string {
	if id != "" {
		return id
	}
	f.anonymous++
	return fmt.Sprintf("\x00%d", f.anonymous)
}

func (f *runFold) summary() RunSummary {
	s := f.sum
	s.Kinds = maps.Clone(f.sum.Kinds)
	s.Steps, s.ToolCallsByName = make(map[events.StepStatus]int), make(map[string]int)
	for _, step := range f.steps {
		s.Steps[step.status]++
	}
	for call, tool := range f.calls {
		s.ToolCalls++
		s.ToolCallsByName[tool]++
		if _, ok := f.results[call]; !ok && !f.denied[call] {
			s.Unanswered++
		}
	}
	for call, status := range f.results {
		s.ToolResults++
		if !f.denied[call] {
			s.count(status)
		}
		if _, ok := f.calls[call]; !ok {
			s.Unasked++
		}
	}
	for call, denied := range f.denied {
		if _, ok := f.calls[call]; ok && denied {
			s.ToolDenied++
		}
	}
	s.Responses, s.Tokens, s.Cost = len(f.tokens), f.spent(), f.paid()
	if s.Responses == 0 {
		s.Responses = len(f.telemetry)
	}
	s.Subagents = slices.Sorted(maps.Keys(f.subagents))
	s.Finished = f.lastEnd()
	s.Model, s.State = cmp.Or(s.Model, f.model), f.removal.stateOf(s)
	return s
}

func (s *RunSummary) count(status events.ToolStatus) {
	switch status {
	case events.ToolSuccess:
	case events.ToolError:
		s.ToolErrors++
	case events.ToolDenied:
		s.ToolDenied++
	case events.ToolInterrupted:
		s.ToolInterrupted++
	}
}
