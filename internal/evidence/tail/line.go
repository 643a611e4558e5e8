package tail

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Line has the facts of one event. Never rename its fields, because `run tail --json` prints them.
type Line struct {
	Leaf   int64       `json:"leaf"`
	ID     string      `json:"id"`
	Time   time.Time   `json:"time,omitzero"` // absent if the source states none
	Tenant string      `json:"tenant"`
	Run    string      `json:"run"`
	Agent  string      `json:"agent,omitempty"`
	Source string      `json:"source,omitempty"` // of the run's first event, such as the agent's program
	Role   string      `json:"role,omitempty"`   // of the agent, such as CODER
	Kind   events.Kind `json:"kind"`
	Step   string      `json:"step,omitempty"`
	Call   string      `json:"call,omitempty"`   // id of the tool call
	Name   string      `json:"name,omitempty"`   // of the tool, sub-agent, error or custom event, or the role of a message
	Detail string      `json:"detail,omitempty"` // the most telling argument, or the first words of the prompt or message

	Status     string          `json:"status,omitempty"`    // of a result, or of the end of a step or run
	Verdict    events.Verdict  `json:"verdict,omitempty"`   // deny, ask, allow or none, absent if no hook decided
	Hook       string          `json:"hook,omitempty"`      // that denied
	Reason     string          `json:"reason,omitempty"`    // of the verdict or the end
	DeniedBy   events.DeniedBy `json:"denied_by,omitempty"` // source of a refusal that is not of our hooks
	ExitCode   *int            `json:"exit_code,omitempty"` // of a command, absent if unknown
	DurationMS int64           `json:"duration_ms,omitempty"`
	Failure    *events.Failure `json:"failure,omitempty"`

	User   string         `json:"user,omitempty"`   // at the start of a run
	Cwd    string         `json:"cwd,omitempty"`    // at the start of a run
	Branch string         `json:"branch,omitempty"` // of git, at the start of a run
	Model  string         `json:"model,omitempty"`  // of the run or the response
	Tokens *events.Tokens `json:"tokens,omitempty"` // absent if the source states none
	Cost   *events.Cost   `json:"cost,omitempty"`   // absent if the source states none

	DeniedResult bool   `json:"denied_result,omitempty"` // a successful result of a denied call
	Repeated     bool   `json:"repeated,omitempty"`      // an earlier line states the same, such as one of the hooks before an import
	Removed      string `json:"removed,omitempty"`       // erased or pruned, if the payload is gone
	Altered      string `json:"altered,omitempty"`       // how the record differs from its leaf

	parent string // run that started this one
}

// Denied reports whether the line is about a denied or refused action.
func (l Line) Denied() bool {
	return l.Verdict == events.VerdictDeny || l.Status == string(events.ToolDenied)
}

// Failed reports whether the line is about a failed call, step or run, or about an error.
func (l Line) Failed() bool {
	return l.Status == string(events.ToolError) || l.Status == string(events.StepFailed)
}

// Interrupted reports whether the line is about a call, step or run that was stopped.
func (l Line) Interrupted() bool { return l.Status == string(events.ToolInterrupted) }

func lineOf(entry ledger.Entry, e events.Event) Line {
	l := Line{
		Leaf: entry.Leaf, ID: e.ID, Time: e.Time, Run: e.Run, Agent: e.Agent, Source: e.Source, Role: e.AgentRole,
		Kind: e.Kind(), Step: e.Step, Call: e.ToolCall, parent: e.ParentRun,
	}
	if e.Untimed() {
		l.Time = time.Time{}
	}
	if entry.Removal.Done() {
		l.Removed = string(entry.Removal.Word)
		return l
	}
	row := runtree.RowOf(e)
	l.Name, l.Detail = row.Name, row.Detail
	l.Verdict, l.Hook, l.Reason = row.Verdict, row.Hook, row.Reason
	l.Status, l.DeniedBy, l.ExitCode, l.DurationMS, l.Failure = string(row.Status), row.DeniedBy, row.ExitCode, row.DurationMS, row.Failure
	if add, ok := details[l.Kind]; ok {
		add(&l, e)
	}
	if l.Verdict != events.VerdictDeny && deniable[l.Kind] && e.Denies() {
		l.deniedAs(e)
	}
	return l
}

// deniable contains the kinds, apart from tool calls, that hooks can deny.
var deniable = map[events.Kind]bool{
	events.PromptSubmit: true, events.SessionStart: true, events.SubagentStart: true, events.CompactBefore: true,
	events.StepBefore: true, events.StepOutput: true, events.MessagesFilter: true, events.MessageCreate: true,
	events.MessageUpdate: true, events.LLMRequest: true, events.ToolResultStore: true,
}

// deniedAs reads only the outcome, because another member of the payload can be invalid.
func (l *Line) deniedAs(e events.Event) {
	if o, err := events.Payload[events.Outcome](e); err == nil {
		l.decided(o)
	}
	l.Verdict = events.VerdictDeny
}

var details = map[events.Kind]func(*Line, events.Event){
	events.RunStarted: decoded(func(l *Line, p events.RunStartedData) {
		l.Detail, l.Model, l.Cwd = runtree.OneLine(p.Title), p.Model, p.Cwd
		l.Branch, _ = p.Metadata["git_branch"].(string)
	}),
	events.RunFinished: decoded(func(l *Line, p events.RunFinishedData) {
		l.Status, l.Reason, l.Failure = string(p.Status()), runtree.OneLine(p.Reason), p.Error
		l.DurationMS, l.Tokens, l.Cost = p.DurationMS, p.TokensUsed, p.Cost
	}),
	events.StepFinished: decoded(func(l *Line, p events.StepFinishedData) {
		l.Status, l.Detail, l.Failure = string(p.StepStatus), runtree.OneLine(p.InputSummary), p.Error
		l.DurationMS, l.Tokens = p.DurationMS, p.TokensUsed
	}),
	events.PromptSubmit: decoded(func(l *Line, p events.PromptSubmitData) {
		l.Detail = runtree.OneLine(p.Prompt)
		l.decided(p.Outcome)
	}),
	events.ResponseCompleted: decoded(func(l *Line, p events.ResponseCompletedData) {
		l.Model, l.Tokens, l.Cost = p.Model, p.TokensUsed, p.Cost
	}),
	events.SubagentStart: decoded(func(l *Line, p events.SubagentStartData) {
		l.Name, l.Detail, l.Model = p.Subagent, cmp.Or(p.Name, p.TaskType), p.Model
	}),
	events.SubagentStopped: decoded(func(l *Line, p events.SubagentStoppedData) {
		l.Name, l.Detail, l.DurationMS, l.Tokens = p.Subagent, p.Name, p.DurationMS, p.TokensUsed
	}),
	events.CompactBefore:  decoded(func(l *Line, p events.CompactBeforeData) { l.Detail = p.Trigger }),
	events.Custom:         customDetails,
	events.MessageCreate:  decoded((*Line).message),
	events.MessageCreated: decoded((*Line).message),
	events.MessageUpdate:  decoded((*Line).message),
	events.MessageUpdated: decoded((*Line).message),
}

func customDetails(l *Line, e events.Event) {
	if p, err := events.Payload[events.CustomData](e); err == nil {
		l.Name = runtree.OneLine(p.Name)
	}
	if l.Name != events.HookProblem {
		return
	}
	if p, err := events.Payload[hookProblem](e); err == nil {
		l.Detail = runtree.OneLine(strings.Join(p.Problems, "; "))
	}
}

type hookProblem struct {
	Problems []string `json:"problems"`
}

func (l *Line) decided(o events.Outcome) {
	l.Verdict, l.Reason = o.Verdict, runtree.OneLine(o.Reason)
	if i := slices.IndexFunc(o.Executions, func(x events.Execution) bool { return x.Verdict == events.VerdictDeny }); i >= 0 {
		l.Hook = cmp.Or(o.Executions[i].Name, o.Executions[i].Hook)
	}
}

func decoded[T any](add func(*Line, T)) func(*Line, events.Event) {
	return func(l *Line, e events.Event) {
		if p, err := events.Payload[T](e); err == nil {
			add(l, p)
		}
	}
}

// Filter selects lines. The zero value selects all lines. A line of an altered record always matches,
// because its content cannot be compared.
type Filter struct {
	Agent                       string // [Line.Agent] or [Line.Source]
	Tool                        string
	Denied, Failed, Interrupted bool // lines with at least one of the selected outcomes
	Once                        bool // without repeated lines
	Telling                     bool // without lines from which a person learns nothing, such as messages without text
}

func (f Filter) matches(l Line) bool {
	return l.Altered != "" || (!f.Once || !l.Repeated) && (!f.Telling || !l.isQuiet()) &&
		(f.Agent == "" || strings.EqualFold(f.Agent, l.Agent) || strings.EqualFold(f.Agent, l.Source)) &&
		(f.Tool == "" || l.ofTool() && strings.EqualFold(f.Tool, l.Name)) && f.matchesState(l)
}

func (f Filter) matchesState(l Line) bool {
	return !f.Denied && !f.Failed && !f.Interrupted ||
		f.Denied && (l.Denied() || l.DeniedResult) || f.Failed && l.Failed() || f.Interrupted && l.Interrupted()
}

func (l Line) ofTool() bool {
	return l.Kind == events.ToolBefore || l.Kind == events.ToolResult || l.Kind == events.Approval
}
