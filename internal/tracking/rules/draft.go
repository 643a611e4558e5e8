package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// draft is the unfinished decision on one event. It owns the decision, and knows the
// event and its time. All components of a fold share one draft.
type draft struct {
	records
	config *Config

	event    events.Event
	stamp    Stamp     // of the facts of the event
	now      time.Time // the clock, or the due time of a timer
	decision Decision
	made     []string // ids of the created issues
	waiting  string   // id of the waiting record, if the event is in its grace period
	path     []string // rules in the order of use
	reasons  []string
}

// say appends a rule to the path, and its reason.
func (d *draft) say(rule, reason string) {
	d.path = append(d.path, rule)
	d.reasons = append(d.reasons, reason)
}

// flip stores the condition that would have changed the decision.
func (d *draft) flip(condition string) { d.decision.Flip = condition }

// touch adds the issue id to the issues of the decision.
func (d *draft) touch(id string) {
	if id != "" && !slices.Contains(d.decision.Issues, id) {
		d.decision.Issues = append(d.decision.Issues, id)
	}
}

// count adds a counter and its limit to the decision.
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

// as runs do with the time of the draft set to at.
func (d *draft) as(at time.Time, do func()) {
	stamp, now := d.stamp, d.now
	d.stamp.At, d.now = at, at
	do()
	d.stamp, d.now = stamp, now
}

// run returns the run of the event for changing.
func (d *draft) run() *Run { return runs.edit(d.records, d.event.Run) }

// lineage returns the lineage of the event's run for changing.
func (d *draft) lineage() *Lineage { return lineages.edit(d.records, d.lineageID()) }

func (d *draft) lineageID() string { return d.lineageOf(d.run()) }

// recovered gives the reason for a failure that recovered within its grace period.
func (d *draft) recovered() {
	d.say("recovered", "recorded only: it was recovered within that time")
	d.flip("no success of its run, step or role within that time")
}

// finish returns the completed decision.
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
