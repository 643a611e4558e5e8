package issues

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// View is the part of a tenant's state that one event reads and changes.
// [State.View] and the tracker's database make one.
type View struct {
	Tenant  Tenant
	Run     Run     // of the event; zero if it is the first of its run
	Step    Step    // of the event; zero if it is the step's first
	Issues  []Issue // all issues of the run, by id
	Decided bool    // there is a decision on this event already
}

// Considered reports whether events of kind k are decided on.
func Considered(k events.Kind) bool {
	return strings.HasPrefix(string(k), "run.") || k == events.StepFinished || k == events.Error ||
		k == events.IssueEdited || k == events.ClockTicked
}

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

// Fold decides on e. It returns v as it is afterwards, and one decision if e is
// considered and was not decided on before. It changes nothing that v refers
// to. It fails if the data of e is not of its kind, and then says nothing on e:
// such an event can never be decided on.
func Fold(v View, e events.Event, c Config) (View, []Decision, error) {
	if e.Kind() == events.IssueDecided || v.Decided {
		return v, nil, nil
	}
	v.Tenant.ID = e.Tenant
	if e.Time.After(v.Tenant.Clock) {
		v.Tenant.Clock = e.Time.UTC()
	}
	if !Considered(e.Kind()) {
		return v, nil, nil
	}
	v.Tenant.Count++
	v.Run.Roles = slices.Clone(v.Run.Roles)
	v.Run.Bundled = slices.Clone(v.Run.Bundled)
	v.Issues = slices.Clone(v.Issues)
	f := &fold{
		view:   &v,
		event:  e,
		config: c,
		stamp:  Stamp{At: e.Time.UTC(), N: v.Tenant.Count},
		decision: Decision{
			Tenant: e.Tenant, Source: e.Source, Event: e.ID, Kind: e.Kind(), Run: e.Run,
			Time: e.Time.UTC(), Config: c.Hash(),
		},
	}
	if err := f.decide(); err != nil {
		return View{}, nil, fmt.Errorf("decide on %s %s: %w", e.Kind(), e.ID, err)
	}
	return v, []Decision{f.finish()}, nil
}

// fold is one decision in the making.
type fold struct {
	view     *View
	event    events.Event
	config   Config
	stamp    Stamp
	decision Decision
	path     []string // rules passed, in order
	reasons  []string
}

func (f *fold) decide() error {
	e := f.event
	switch kind := e.Kind(); {
	case !beadsEnabled(e.Hooks):
		f.say("hooks attribute", "not considered: the hooks attribute does not name beads")
		f.decision.Flip = "beads in the hooks attribute, or no hooks attribute"
		return nil
	case kind == events.ClockTicked:
		f.say("clock", "the clock moved; nothing waits for it")
		return nil
	case kind == events.IssueEdited:
		return f.edited()
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
		return f.failed()
	default:
		f.occurrence("run record", "a record about the run says nothing about its work")
		return nil
	}
}

// beadsEnabled reports whether the hooks attribute leaves issues on: it is
// absent, or beads is in its list.
func beadsEnabled(hooks string) bool {
	if hooks == "" {
		return true
	}
	return slices.ContainsFunc(
		strings.FieldsFunc(hooks, func(r rune) bool { return r == ',' || r == ' ' }),
		func(name string) bool { return strings.EqualFold(name, "beads") })
}

// edited records a person's edit with the issue that it names.
func (f *fold) edited() error {
	d, err := events.Payload[events.IssueEditedData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.touch(clean(d.Issue, 64)) // no id is longer
	f.say("edited", "a person's edit is recorded; it decides nothing")
	return nil
}

// failed records an error: whether it mattered shows in the end of its step.
func (f *fold) failed() error {
	if _, err := events.Payload[events.ErrorData](f.event); err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.occurrence("error", "an error alone decides nothing: its step or run has still to end")
	f.decision.Flip = "a step that ends as failed"
	return nil
}

// occurrence adds the event to the run's own issue, if there is one.
func (f *fold) occurrence(rule, reason string) {
	f.touch(f.view.Run.Issue)
	f.say(rule, reason)
}

// say adds a rule to the path, and what it found.
func (f *fold) say(rule, reason string) {
	f.path = append(f.path, rule)
	f.reasons = append(f.reasons, reason)
}

// touch says that the event belongs to the issue id.
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
	d.Action, d.Occurs = None, d.Issues
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
