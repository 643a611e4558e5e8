package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Kinds of timers. The id of a timer is the kind, a slash and the id of its subject, such as
// "stall/LINEAGE".
const (
	graceKind  = "hold"   // ends a grace period
	quietKind  = "quiet"  // ends the flapping of an issue
	stallKind  = "stall"  // labels a lineage without events
	digestKind = "digest" // updates the description of a digest
)

// GraceTimers is the prefix of the ids of timers that end grace periods. In its grace period, a
// failure waits for a later success before it gets an issue.
const GraceTimers = graceKind + "/"

type pass struct {
	records
	config    *Config
	hash      string // of config
	ending    bool   // after the last event, all grace periods end
	decisions []Decision
}

func newPass(s *State, c *Config, tenant string) *pass {
	return &pass{records: records{s, tenant}, config: c, hash: c.Hash()}
}

func (p *pass) apply(e events.Event) error {
	considered := Considered(e.Kind())
	if considered && seenBefore(p.records, e) {
		p.compare(e)
		return nil
	}
	p.register()
	t := p.clock()
	t.move(e, p.config.Leap)
	f := newFold(p, e, Stamp{At: t.take(e)}, time.Time{})
	due := p.runTimers(f, t.Clock)
	f.draft.now = latest(t.Clock, f.draft.stamp.At)
	f.stalls.alive()
	if !considered {
		for _, result := range f.alarms.watch() {
			p.earlier(e, result, f.draft.now)
		}
		f.runDue(due)
		if len(f.draft.decision.Effects)+len(f.draft.decision.Occurs) > 0 {
			p.give(f)
		}
		return nil
	}
	t.Count++
	f.draft.stamp.N = t.Count
	m := marks.edit(p.records, markID(p.records, e.ID, e.Source))
	m.Source, m.Seen, m.Sum = e.Source, true, contentOf(e)
	if err := f.decide(); err != nil {
		return err
	}
	if f.draft.waiting != "" {
		for _, timer := range due {
			p.setTimer(timer.ID, timer.At)
		}
		return nil
	}
	f.runDue(due)
	p.give(f)
	return nil
}

func (p *pass) compare(e events.Event) {
	t := p.clock()
	f := newFold(p, e, Stamp{At: t.take(e), N: t.Count}, t.Clock)
	f.alarms.compare()
	if len(f.draft.decision.Issues) > 0 {
		p.decisions = append(p.decisions, f.draft.finish())
	}
}

func (p *pass) register() {
	all := records{state: p.state}
	r := registers.get(all, "")
	if r != nil {
		if _, found := slices.BinarySearch(r.Tenants, p.tenant); found {
			return
		}
	}
	r = registers.edit(all, "")
	i, _ := slices.BinarySearch(r.Tenants, p.tenant)
	r.Tenants = slices.Insert(r.Tenants, i, p.tenant)
}

func (p *pass) give(f *fold) {
	f.people.settle()
	p.decisions = append(p.decisions, f.draft.finish())
}

func (p *pass) runTimers(f *fold, clock time.Time) (due []Timer) {
	for {
		t, found := p.state.nextTimer(p.tenant)
		if !found || t.At.After(clock) || p.state.err != nil {
			return due
		}
		p.clearTimer(t.ID)
		kind, subject, _ := strings.Cut(t.ID, "/")
		switch {
		case kind == graceKind:
			p.endGrace(graceSubject(subject), t.At)
		case kind == stallKind && !f.stalls.inactive(subject, t.At), kind == quietKind && !f.transitions.inactive(subject, t.At):
			// inactive has set a new time for the timer. If that time has come too, the next
			// iteration runs the timer.
		default:
			due = append(due, t)
		}
	}
}

func graceSubject(id string) string {
	_, subject, _ := strings.Cut(id, "/")
	return subject
}

func (p *pass) endGrace(subject string, now time.Time) (again Timer) {
	g := gracePeriods.edit(p.records, subject)
	first := true
	for ; g.From < g.To; g.From++ {
		id := waitingID(subject, g.From)
		stored := waitings.get(p.records, id)
		if stored == nil {
			continue
		}
		w := *stored
		f := resume(p, &w, now)
		end, _ := graceEnd(p.records, p.config.Grace, w.At.At)
		if first && end.After(now) && p.reaches(end) && f.stands(w.incident) {
			g.Timer = w.timer()
			p.setTimer(g.Timer, end)
			return Timer{p.tenant, g.Timer, end}
		}
		waitings.drop(p.records, id)
		first = !f.endIncident(w.incident) && first
		if w.Left != nil && f.isLatest(w) {
			f.followups.leave(*w.Left)
		}
		p.give(f)
	}
	gracePeriods.drop(p.records, subject)
	return Timer{}
}

func (p *pass) reaches(at time.Time) bool {
	return p.ending || at.Sub(p.clock().Clock) <= p.config.Leap
}

func (p *pass) release() {
	p.ending = true
	list := slices.DeleteFunc(p.state.allTimers(p.tenant), func(t Timer) bool {
		return !strings.HasPrefix(t.ID, GraceTimers)
	})
	for len(list) > 0 && p.state.err == nil {
		t := list[0]
		list = list[1:]
		p.clearTimer(t.ID)
		again := p.endGrace(graceSubject(strings.TrimPrefix(t.ID, GraceTimers)), t.At)
		if !again.At.IsZero() {
			i, _ := slices.BinarySearchFunc(list, again, Timer.compare)
			list = slices.Insert(list, i, again)
		}
	}
}
