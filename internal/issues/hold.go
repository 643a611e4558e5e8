package issues

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// span numbers the incidents that are held of one failure.
type span struct {
	From uint64 `json:"from,omitempty"`
	To   uint64 `json:"to,omitempty"` // the next number
}

// held is an event whose decision waits: an incident that may be recovered yet.
type held struct {
	incident
	Source string      `json:"source"`
	Event  string      `json:"event"`
	Kind   events.Kind `json:"kind"`
	Made   []string    `json:"made,omitempty"`   // issues, of what was left over
	Occurs []string    `json:"occurs,omitempty"` // issues that it is an occurrence of already
}

var holds = table[held]{kind: "held"}

func heldID(failure string, n uint64) string { return fmt.Sprintf("%s/%d", failure, n) }

// holdTimer returns the id of the timer that ends a hold. Holds that end together
// end in the order in which their failures came.
func holdTimer(in incident) string { return fmt.Sprintf("hold/%020d/%s", in.At.N, in.Failure) }

// hold keeps an incident until it is known whether it is recovered.
func (f *fold) hold(in incident) {
	fl := failures.edit(f.state, f.tenant, in.Failure)
	fl.Held.To++
	f.held = heldID(in.Failure, fl.Held.To-1)
	*holds.edit(f.state, f.tenant, f.held) = held{
		incident: in, Source: f.event.Source, Event: f.event.ID, Kind: f.event.Kind(),
	}
	if fl.Timer == "" {
		fl.Timer = holdTimer(in)
		f.state.setTimer(f.tenant, fl.Timer, in.At.At.Add(f.config.Hold))
	}
}

// wait keeps what came of an event beside the failure that is held: the next
// decision of the tenant has its effects, so that they stay in their order.
func (p *pass) wait(f *fold) {
	t := p.clock()
	t.Waiting = append(t.Waiting, f.decision.Effects...)
	h := holds.edit(p.state, p.tenant, f.held)
	h.Made, h.Occurs = f.made, f.decision.Occurs
}

// resume begins the decision on an event that was held.
func (p *pass) resume(h *held) *fold {
	f := p.fold(events.Event{ID: h.Event, Source: h.Source, Type: h.Kind.Type(), Run: h.Run, Time: h.At.At}, h.At)
	f.made, f.decision.Occurs = slices.Clone(h.Made), slices.Clone(h.Occurs)
	for _, id := range h.Occurs {
		f.touch(id)
	}
	return f
}

// endHold judges what was held of a failure, in the order in which it came. What
// failed anew after a recovery is held for its own time: until again, if that is
// not zero.
func (p *pass) endHold(id string) (again Timer) {
	fl := failures.edit(p.state, p.tenant, id)
	fl.Timer = ""
	first := true
	for n := fl.Held.From; n < fl.Held.To; n++ {
		h := holds.get(p.state, p.tenant, heldID(id, n))
		if h == nil {
			continue
		}
		f := p.resume(h)
		due := h.At.At.Add(p.config.Hold)
		if p.stays(f, h.incident) && first && due.After(p.now) {
			fl.Timer = holdTimer(h.incident)
			p.state.setTimer(p.tenant, fl.Timer, due)
			fl.Held.From = n
			return Timer{p.tenant, fl.Timer, due}
		}
		holds.drop(p.state, p.tenant, heldID(id, n))
		first = f.unhold(h.incident) && first
		p.give(f)
	}
	fl.Held = span{}
	return Timer{}
}

// stays reports whether nothing has come of an incident yet.
func (p *pass) stays(f *fold, in incident) bool {
	_, inhibited := f.inhibitor(in)
	return !f.recovered(in) && !inhibited && f.lineageFollower(in.Run) == ""
}

// lineageFollower returns the issue that follows the lineage of a run.
func (p *pass) lineageFollower(run string) string {
	r := runs.get(p.state, p.tenant, run)
	if r == nil {
		return ""
	}
	if l := lineages.get(p.state, p.tenant, p.lineageOf(r)); l != nil {
		return l.follower()
	}
	return ""
}

// inhibitor returns the first failing step of the incident's run if the run failed
// and that is another failure: then the incident is part of it.
func (f *fold) inhibitor(in incident) (first Failing, inhibited bool) {
	r := runs.get(f.state, f.tenant, in.Run)
	if r == nil || r.Finished.isZero() || r.Success {
		return Failing{}, false
	}
	first, found := f.firstFailing(r)
	return first, found && first.Failure != in.Failure
}

// unhold decides on an incident whose hold has ended. It reports whether nothing
// came of it.
func (f *fold) unhold(in incident) (nothing bool) {
	f.say("held", fmt.Sprintf("%s failed and was held for %s", strings.TrimSpace(in.Name), formatDuration(f.config.Hold)))
	if id := f.lineageFollower(in.Run); id != "" {
		f.say("followed since", "an issue follows the run since then")
		f.occur(id)
		return true
	}
	if f.recovered(in) {
		f.say("recovered", "recorded only: it was recovered within that time")
		f.decision.Flip = "no success of its run, step or scope within that time"
		return true
	}
	if main, inhibited := f.inhibitor(in); inhibited {
		f.say("inhibited", "the run failed, and this is part of the failure of its first failing step")
		in = in.partOf(main)
	}
	f.decision.Flip = "success of its run, step or scope within that time"
	fl := failures.edit(f.state, f.tenant, in.Failure)
	if f.takes(fl) {
		f.recur(in)
	} else {
		f.raise(in, false)
	}
	return false
}
