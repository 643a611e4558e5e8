package rules

import (
	"fmt"
	"time"
)

// room takes a slot for a failure or follow-up of its own, if there is one.
func (f *fold) room(critical bool) bool {
	t := f.clock()
	if critical && f.slot(&t.Critical, "critical", f.config.Critical) {
		f.say("critical budget", "critical severity needs no room in storm and budget")
		t.Created = append(t.Created, f.now)
		return true
	}
	keep := max(f.config.Storm.Within, f.config.Budget.Within)
	t.Created = within(t.Created, f.now, keep)
	storm, budget := f.config.Storm, f.config.Budget
	inStorm, inBudget := recent(t.Created, f.now, storm.Within), recent(t.Created, f.now, budget.Within)
	f.count("storm", inStorm, storm.Most)
	f.count("budget", inBudget, budget.Most)
	switch {
	case inStorm >= storm.Most:
		f.say("storm", fmt.Sprintf("%d issues were made within %s, at most %d may be", inStorm, formatDuration(storm.Within), storm.Most))
		f.decision.Flip = "fewer new issues before it"
		return false
	case inBudget >= budget.Most:
		f.say("budget", fmt.Sprintf("%d issues were made within %s, at most %d may be", inBudget, formatDuration(budget.Within), budget.Most))
		f.decision.Flip = "fewer new issues before it"
		return false
	}
	t.Created = append(t.Created, f.now)
	return true
}

// roomToTrack takes a slot for an issue that follows a lineage, if there is one.
func (f *fold) roomToTrack() bool {
	if f.slot(&f.clock().Tracking, "tracking", f.config.Tracking) {
		return true
	}
	f.say("storm", fmt.Sprintf("%d issues about runs were made within %s already",
		f.config.Tracking.Most, formatDuration(f.config.Tracking.Within)))
	f.decision.Flip = "fewer runs that are tracked before it"
	return false
}

// slot takes a slot of a limit, if there is one.
func (f *fold) slot(taken *[]time.Time, name string, limit Limit) bool {
	*taken = within(*taken, f.now, limit.Within)
	f.count(name, len(*taken), limit.Most)
	if len(*taken) >= limit.Most {
		return false
	}
	*taken = append(*taken, f.now)
	return true
}

// within returns the times that are less than window from now, without order: later
// ones were counted before the clock was brought back.
func within(times []time.Time, now time.Time, window time.Duration) []time.Time {
	var kept []time.Time
	for _, t := range times {
		if now.Sub(t).Abs() < window {
			kept = append(kept, t)
		}
	}
	return kept
}

// recent counts the times that are less than window from now.
func recent(times []time.Time, now time.Time, window time.Duration) int {
	return len(within(times, now, window))
}
