package rules

import (
	"fmt"
	"time"
)

type limiter struct {
	draft    *draft
	admitted *bool // whether this event may create follow-ups, or nil before the decision
}

func (l *limiter) allow(critical bool) bool {
	d := l.draft
	t := d.clock()
	if critical && l.slot(&t.Critical, "critical", d.config.Critical) {
		d.say("critical budget", "critical severity needs no room in storm and budget")
		t.Created = append(t.Created, d.now)
		return true
	}
	storm, budget := d.config.Storm, d.config.Budget
	t.Created = within(t.Created, d.now, max(storm.Within, budget.Within))
	inStorm, inBudget := len(within(t.Created, d.now, storm.Within)), len(within(t.Created, d.now, budget.Within))
	d.count("storm", inStorm, storm.Most)
	d.count("budget", inBudget, budget.Most)
	switch {
	case inStorm >= storm.Most:
		d.say("storm", fmt.Sprintf("%d issues were made within %s, at most %d may be", inStorm, FormatDuration(storm.Within), storm.Most))
		d.flip("fewer new issues before it")
		return false
	case inBudget >= budget.Most:
		d.say("budget", fmt.Sprintf("%d issues were made within %s, at most %d may be", inBudget, FormatDuration(budget.Within), budget.Most))
		d.flip("fewer new issues before it")
		return false
	}
	t.Created = append(t.Created, d.now)
	return true
}

func (l *limiter) allowTracking() bool {
	d := l.draft
	if l.slot(&d.clock().Tracking, "tracking", d.config.Tracking) {
		return true
	}
	d.say("storm", fmt.Sprintf("%d issues about runs were made within %s already",
		d.config.Tracking.Most, FormatDuration(d.config.Tracking.Within)))
	d.flip("fewer runs that are tracked before it")
	return false
}

func (l *limiter) allowFollowup() bool {
	if l.admitted == nil {
		l.admitted = new(l.allow(false))
	} else if *l.admitted {
		t := l.draft.clock()
		t.Created = append(t.Created, l.draft.now)
	}
	return *l.admitted
}

func (l *limiter) slot(taken *[]time.Time, name string, limit Limit) bool {
	*taken = within(*taken, l.draft.now, limit.Within)
	l.draft.count(name, len(*taken), limit.Most)
	if len(*taken) >= limit.Most {
		return false
	}
	*taken = append(*taken, l.draft.now)
	return true
}

// within also removes times far in the future, because the clock can be set back.
func within(times []time.Time, now time.Time, window time.Duration) []time.Time {
	var near []time.Time
	for _, t := range times {
		if now.Sub(t).Abs() < window {
			near = append(near, t)
		}
	}
	return near
}
