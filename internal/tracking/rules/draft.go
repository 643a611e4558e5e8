package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type draft struct {
	records
	config *Config

	event    events.Event
	stamp    Stamp     // stamp of the facts in the event
	now      time.Time // the clock, or the due time of a timer
	decision Decision
	made     []string // issues that the event created
	waiting  string   // record of the event while it is in a grace period
	path     []string // rules in the order of use
	reasons  []string
}

func (d *draft) say(rule, reason string) {
	d.path = append(d.path, rule)
	d.reasons = append(d.reasons, reason)
}

func (d *draft) flip(condition string) { d.decision.Flip = condition }

func (d *draft) touch(id string) {
	if id != "" && !slices.Contains(d.decision.Issues, id) {
		d.decision.Issues = append(d.decision.Issues, id)
	}
}

func (d *draft) count(name string, value, limit int) {
	if d.decision.Counters == nil {
		d.decision.Counters = make(map[string]Counter)
	}
	d.decision.Counters[name] = Counter{int64(value), int64(limit)}
}

func (d *draft) effect(e Effect) {
	d.touch(e.ID)
	d.decision.Effects = append(d.decision.Effects, e)
}

func (d *draft) as(at time.Time, do func()) {
	stamp, now := d.stamp, d.now
	d.stamp.At, d.now = at, at
	do()
	d.stamp, d.now = stamp, now
}

func (d *draft) run() *Run { return runs.edit(d.records, d.event.Run) }

func (d *draft) lineage() *Lineage { return lineages.edit(d.records, d.lineageID()) }

func (d *draft) lineageID() string { return d.lineageOf(d.run()) }

func (d *draft) recovered() {
	d.say("recovered", "recorded only: it was recovered within that time")
	d.flip("no success of its run, step or role within that time")
}

func (d *draft) finish() Decision {
	done := d.decision
	done.Rule = strings.Join(d.path, " > ")
	done.Reason = strings.Join(d.reasons, "; ")
	done.Action = None
	if len(done.Issues) > 0 {
		done.Action = Record
	}
	for _, e := range done.Effects {
		if e.Op == OpCreate {
			done.Action = Create
		} else if done.Action != Create {
			done.Action = Update
		}
	}
	return done
}
