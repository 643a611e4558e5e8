package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// StepKey returns the id under which the step of e is kept: a step.finished
// without a step id is a step of its own. It is empty for all other kinds.
func StepKey(e events.Event) string {
	if e.Kind() != events.StepFinished {
		return ""
	}
	if e.Step == "" {
		return "event:" + e.ID
	}
	return e.Step
}

// fold is one decision in the making.
type fold struct {
	*pass
	event    events.Event
	stamp    Stamp
	decision Decision
	made     []string // issues
	held     string   // the record of the event, if it is held: its decision comes later
	admitted *bool    // whether there was room for the follow-ups of the event
	path     []string // rules passed, in order
	reasons  []string
}

// fold begins the decision on e, a fact of that time.
func (p *pass) fold(e events.Event, stamp Stamp) *fold {
	return &fold{
		pass: p, event: e, stamp: stamp,
		decision: Decision{
			Tenant: p.tenant, Source: e.Source, Event: e.ID, Kind: e.Kind(), Run: e.Run,
			Time: e.Time.UTC(), Config: p.hash,
		},
	}
}

func (f *fold) decide() error {
	e := f.event
	switch kind := e.Kind(); {
	case kind == events.IssueEdited:
		return f.edited()
	case !e.Enabled("beads"):
		f.say("hooks attribute", "not considered: the hooks attribute does not name beads")
		f.decision.Flip = "beads in the hooks attribute, or no hooks attribute"
		return nil
	case kind == events.ClockTicked:
		f.ticked()
		return nil
	case e.Run == "":
		f.say("no run", "the event names no run")
		f.decision.Flip = "a runid attribute"
		return nil
	case kind == events.RunStarted:
		return f.started()
	case kind == events.StepFinished:
		return f.stepFinished()
	case kind == events.RunFinished:
		return f.runFinished()
	case kind == events.Error:
		return f.errored()
	case kind == events.RunSealed:
		f.say("seal", "a seal says which events of the run there are, nothing about its work")
		return nil
	default:
		f.seen("", nil)
		f.follow(cause{rule: "run record"}, "a record about the run says nothing about its work")
		return nil
	}
}

// ticked says what the moving of the clock did.
func (f *fold) ticked() {
	if len(f.decision.Effects) == 0 {
		f.say("clock", "the clock moved; nothing waited for it")
		return
	}
	f.say("clock", "the clock moved")
}

// errored records an error: whether it mattered shows in the end of its step.
func (f *fold) errored() error {
	d, err := events.Payload[events.ErrorData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.seen("", nil)
	f.follow(cause{rule: "error", failure: trouble{Class: failureOf(&d.Error, "", nil).Class}},
		"an error alone decides nothing: its step or run has still to end")
	f.decision.Flip = "a step that ends as failed"
	return nil
}

// follow adds the event to the issue that follows its run, if there is one.
func (f *fold) follow(why cause, reason string) {
	f.say(why.rule, reason)
	f.track(why)
	f.occur(f.lineage().follower())
}

// say adds a rule to the path, and what it found.
func (f *fold) say(rule, reason string) {
	f.path = append(f.path, rule)
	f.reasons = append(f.reasons, reason)
}

// touch says that the event has to do with the issue id.
func (f *fold) touch(id string) {
	if id != "" && !slices.Contains(f.decision.Issues, id) {
		f.decision.Issues = append(f.decision.Issues, id)
	}
}

func (f *fold) count(name string, value, limit int) {
	if f.decision.Counters == nil {
		f.decision.Counters = make(map[string]Counter)
	}
	f.decision.Counters[name] = Counter{int64(value), int64(limit)}
}

func (f *fold) effect(e Effect) {
	f.touch(e.ID)
	f.decision.Effects = append(f.decision.Effects, e)
}

// finish completes the decision with what all that was said comes to.
func (f *fold) finish() Decision {
	d := f.decision
	d.Rule = strings.Join(f.path, " > ")
	d.Reason = strings.Join(f.reasons, "; ")
	d.Action = None
	if len(d.Issues) > 0 {
		d.Action = Record
	}
	for _, e := range d.Effects {
		if e.Op == OpCreate {
			d.Action = Create
		} else if d.Action != Create {
			d.Action = Update
		}
	}
	return d
}
