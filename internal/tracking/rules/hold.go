package rules

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// incident is one failure of a step, or of a run's end, of which nothing came
// yet: it may be recovered.
type incident struct {
	Failure string `json:"failure,omitempty"` // what it is part of, where no issue follows the run
	Scope   string `json:"scope,omitempty"`   // where it happened, then
	Lineage string `json:"lineage,omitempty"` // whose issue it would block, where one does
	Unit    string `json:"unit,omitempty"`    // of the role, then
	Role    string `json:"role,omitempty"`
	Run     string `json:"run"`
	Step    string `json:"step,omitempty"` // its key; "" of the run's end
	Name    string `json:"name"`           // for people
	At      Stamp  `json:"at"`
}

// subject returns what the incident is held with: others of it are recovered,
// and decided on, together.
func (in incident) subject() string {
	if in.Lineage != "" {
		return in.Lineage
	}
	return in.Failure
}

// timer returns the id of the timer that ends a hold. Holds that end together
// end in the order in which their failures came.
func (in incident) timer() string {
	return fmt.Sprintf("%s/%020d/%s", holdKind, in.At.N, in.subject())
}

// hold is what is held of one subject.
type hold struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`    // the next number
	Timer string `json:"timer"` // that ends it
}

var holds = table[hold]{kind: "hold"}

// held is an event whose decision waits.
type held struct {
	incident
	Source string      `json:"source"`
	Event  string      `json:"event"`
	Kind   events.Kind `json:"kind"`
	Left   *leftover   `json:"left,omitempty"` // what the event left over
}

var helds = table[held]{kind: "held"}

func heldID(subject string, n uint64) string { return fmt.Sprintf("%s/%d", subject, n) }

// hold keeps an incident until it is known whether it is recovered.
func (f *fold) hold(in incident) {
	h := holds.edit(f.state, f.tenant, in.subject())
	f.held = heldID(in.subject(), h.To)
	h.To++
	*helds.edit(f.state, f.tenant, f.held) = held{
		incident: in, Source: f.event.Source, Event: f.event.ID, Kind: f.event.Kind(),
	}
	if h.Timer == "" {
		h.Timer = in.timer()
		_, look := f.holdUntil(in.At.At)
		f.state.setTimer(f.tenant, h.Timer, look)
	}
}

// resume begins the decision on an event that was held.
func (p *pass) resume(h *held) *fold {
	f := p.fold(events.Event{ID: h.Event, Source: h.Source, Type: h.Kind.Type(), Run: h.Run, Time: h.At.At}, h.At)
	rule := "run failed"
	if h.Kind == events.StepFinished {
		rule = "step failed"
	}
	f.say(rule, h.Name+" failed")
	f.say("held", "it was held for "+formatDuration(p.config.Hold))
	f.count("complexity", f.run().Complexity(p.config.Signs), p.config.Complexity)
	return f
}

// isLatest reports whether no later report of the step, or end of the run, was
// heard of while this one was held: what that left over counts.
func (f *fold) isLatest(h held) bool {
	if h.Left.Step == "" {
		return f.run().Finished.N == h.At.N
	}
	step := steps.get(f.state, f.tenant, stepID(h.Run, h.Left.Step))
	return step != nil && step.At.N == h.At.N
}

// endHold decides on what was held of a subject, in the order in which it came.
// What failed anew after a recovery is held for its own time: until again, if that
// is not zero.
func (p *pass) endHold(subject string) (again Timer) {
	h := holds.edit(p.state, p.tenant, subject)
	first := true
	for ; h.From < h.To; h.From++ {
		id := heldID(subject, h.From)
		kept := helds.get(p.state, p.tenant, id)
		if kept == nil {
			continue
		}
		one := *kept
		f := p.resume(kept)
		if due, _ := p.holdUntil(one.At.At); first && due.After(p.now) && p.reaches(due) && f.stands(one.incident) {
			return p.holdOn(h, one.incident, due)
		}
		helds.drop(p.state, p.tenant, id)
		first = !f.endIncident(one.incident) && first
		if one.Left != nil && f.isLatest(one) {
			f.leave(*one.Left)
		}
		p.give(f)
	}
	holds.drop(p.state, p.tenant, subject)
	return Timer{}
}

// holdOn holds what is left of a hold until due.
func (p *pass) holdOn(h *hold, in incident, due time.Time) Timer {
	h.Timer = in.timer()
	p.state.setTimer(p.tenant, h.Timer, due)
	return Timer{p.tenant, h.Timer, due}
}

// stands reports whether nothing has come of an incident yet.
func (f *fold) stands(in incident) bool {
	if in.Lineage != "" {
		return f.blocks(in)
	}
	_, inhibited := f.inhibitor(in)
	return !f.recovered(in) && !inhibited && f.lineageFollower(in.Run) == ""
}

// endIncident decides on an incident whose hold has ended. It reports whether
// something came of it.
func (f *fold) endIncident(in incident) bool {
	if in.Lineage != "" {
		return f.endBlock(in)
	}
	return f.endFailure(in)
}
