package rules

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type incident struct {
	Failure string `json:"failure,omitempty"` // failure, if no issue tracks the run
	Scope   string `json:"scope,omitempty"`   // scope of Failure
	Lineage string `json:"lineage,omitempty"` // lineage with a tracking issue that the incident would block
	Unit    string `json:"unit,omitempty"`    // unit of Role, see [Role]
	Role    string `json:"role,omitempty"`
	Run     string `json:"run"`
	Step    string `json:"step,omitempty"` // step key. Empty for the end of a run
	Name    string `json:"name"`           // displayed name of the step or run
	Text    string `json:"text,omitempty"` // error, for the reason in an issue
	At      Stamp  `json:"at"`
}

func (in incident) subject() string {
	if in.Lineage != "" {
		return in.Lineage
	}
	return in.Failure
}

func (in incident) timer() string {
	return fmt.Sprintf("%s%020d/%s", GraceTimers, in.At.N, in.subject())
}

func (in incident) partOf(s Failing) incident {
	in.Failure, in.Scope, in.Step = s.Failure, s.Scope, s.Step
	return in
}

type gracePeriod struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`    // number for the next incident
	Timer string `json:"timer"` // id of the timer that ends the period
}

var gracePeriods = table[gracePeriod]{kind: "hold"}

type waiting struct {
	incident
	Source string      `json:"source"`
	Event  string      `json:"event"`
	Kind   events.Kind `json:"kind"`
	Left   *leftover   `json:"left,omitempty"`
}

var waitings = table[waiting]{kind: "held"}

func waitingID(subject string, n uint64) string { return fmt.Sprintf("%s/%d", subject, n) }

type graceQueue struct{ draft *draft }

func (q *graceQueue) add(in incident) {
	d := q.draft
	g := gracePeriods.edit(d.records, in.subject())
	d.waiting = waitingID(in.subject(), g.To)
	g.To++
	*waitings.edit(d.records, d.waiting) = waiting{
		incident: in, Source: d.event.Source, Event: d.event.ID, Kind: d.event.Kind(),
	}
	if g.Timer == "" {
		g.Timer = in.timer()
		_, check := graceEnd(d.records, d.config.Grace, in.At.At)
		d.setTimer(g.Timer, check)
	}
}

func (q *graceQueue) attach(left leftover) {
	waitings.edit(q.draft.records, q.draft.waiting).Left = &left
}

func (q *graceQueue) has(subject string) bool {
	return gracePeriods.get(q.draft.records, subject) != nil
}

// text returns the error of the first incident that waits and still stands.
func (q *graceQueue) text(lineage string) string {
	r := q.draft.records
	g := gracePeriods.get(r, lineage)
	for n := uint64(0); g != nil && g.From+n < g.To; n++ {
		w := waitings.get(r, waitingID(lineage, g.From+n))
		if w != nil && w.Text != "" && (facts{records: r}).blocks(w.incident) {
			return failed(w.Name, w.Text)
		}
	}
	return ""
}

func resume(p *pass, w *waiting, now time.Time) *fold {
	e := events.Event{ID: w.Event, Source: w.Source, Type: w.Kind.Type(), Run: w.Run, Time: w.At.At}
	f := newFold(p, e, w.At, now)
	rule := "run failed"
	if w.Kind == events.StepFinished {
		rule = "step failed"
	}
	d := &f.draft
	d.say(rule, w.Name+" failed")
	d.say("held", "it was held for "+FormatDuration(p.config.Grace))
	d.count("complexity", d.run().Complexity(p.config.Signs), p.config.Complexity)
	return f
}
