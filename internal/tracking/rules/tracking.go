package rules

import (
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ReasonCompleted closes the issue of a run that completed.
const ReasonCompleted = "Run completed successfully"

// cause is what a step's or a run's end, or another event of a run, says.
type cause struct {
	rule     string
	name     string // of the step or the run, for people
	role     string // of the step
	step     string // its key; "" of the run's end
	target   string
	end      bool // the run's end
	success  bool // of that end
	failure  trouble
	critical bool
}

// good reports whether the cause is a success of its scope.
func (c cause) good() bool { return c.rule == string(events.StepCompleted) || c.end && c.success }

// bad reports whether the cause is a failure.
func (c cause) bad() bool { return c.rule == string(events.StepFailed) || c.end && !c.success }

// settle brings the issue of the run's lineage to where that stands now, and
// makes one if it is due. Where there is none, a failure is one of its own.
func (f *fold) settle(why cause) {
	run, l := f.run(), f.lineage()
	f.count("complexity", run.Complexity(f.config.Signs), f.config.Complexity)
	if run.Generation < l.Generation {
		f.say("earlier generation", "the run is one of those before its work was closed for long")
		f.occur(lineageIssue(f.tenant, f.lineageOf(run), run.Generation))
		return
	}
	if why.end && why.success && run.Parent == "" {
		l.Created = 0
	}
	if !f.track(why) {
		f.followOn(why)
	}
	if why.good() {
		f.succeed(why)
	}
}

// followOn takes in a cause in a lineage to which no issue was made just now.
func (f *fold) followOn(why cause) {
	l := f.lineage()
	switch {
	case l.Issue != "" && f.holdsBack(why):
		// The decision comes when the hold ends.
	case l.Issue != "":
		f.occur(l.Issue)
		want := f.wantedByFacts(l, why)
		f.move(l.Issue, want, motive{
			reason: f.reason(want, why), failure: why.bad(), run: f.run(),
		})
		f.linkRegression(l)
		if f.isOpen(l.Issue) {
			f.watch(f.lineageOf(f.run()))
		}
	case l.Digest != "":
		f.listAgain(l.Digest, l.Entry)
	case why.bad():
		f.fail(why)
	case !why.end:
		f.say("nothing to track", fmt.Sprintf("no issue: complexity %d is below %d and %s",
			f.run().Complexity(f.config.Signs), f.config.Complexity, f.run().typeReason()))
		f.decision.Flip = fmt.Sprintf("run type %s or a complexity of %d or more",
			strings.Join(f.config.Tracked, " or "), f.config.Complexity)
	}
}

// wantedByFacts returns where the issue of the lineage is to be: not blocked yet
// while all that would block it is held.
func (f *fold) wantedByFacts(l *Lineage, why cause) Status {
	want := l.status()
	now := why.bad() && (why.end || why.critical)
	if want == Blocked && !now && f.isHeld(l) {
		want = l.working()
	}
	return want
}

// holdsBack holds a failing step that would block the issue of the lineage: it may
// be recovered. It reports whether it did.
func (f *fold) holdsBack(why cause) bool {
	run, l := f.run(), f.lineage()
	f.calm(l.Issue)
	at := f.statusOf(l.Issue)
	if len(f.decision.Effects) > 0 || why.end || !why.bad() || why.critical || at == Blocked || at == Flapping || l.ended() {
		return false
	}
	in := incident{
		Lineage: f.lineageOf(run), Unit: run.unit(), Role: why.role, Run: run.ID, Step: why.step, Name: why.name, At: f.stamp,
	}
	if !f.blocks(in) {
		return false
	}
	f.hold(in)
	return true
}

// isHeld reports whether all that would block the lineage's issue is held.
func (f *fold) isHeld(l *Lineage) bool {
	return f.statusOf(l.Issue) != Blocked && !l.ended() && holds.get(f.state, f.tenant, f.lineageOf(f.run())) != nil
}

// track makes the issue that follows the lineage if it is due now, and reports
// whether it did.
func (f *fold) track(why cause) bool {
	run, l := f.run(), f.lineage()
	if l.Digest != "" && !f.isOpen(l.Digest) {
		l.Digest = ""
	}
	if l.follower() != "" || run.Generation < l.Generation || !f.due(why) {
		return false
	}
	if id := f.failureOfRun(run); id != "" && !f.startsInOutage(run, id) {
		f.say("failure known", "issue "+id+" is about a failure of the run already")
		f.occur(id)
		return false
	}
	f.makeTracking(why)
	return true
}

// due reports whether the lineage is to be followed from now on.
func (f *fold) due(why cause) bool {
	run, complexity := f.run(), f.run().Complexity(f.config.Signs)
	switch {
	case f.outage(why):
		return false
	case f.config.tracks(run.Type):
		f.say("tracked type", "run type "+run.Type+" is tracked from its start")
		f.decision.Flip = "another run type"
		return true
	case complexity >= f.config.Complexity && (!why.end || f.lineage().status() != Closed):
		f.say("complexity", fmt.Sprintf("complexity %d reaches %d", complexity, f.config.Complexity))
		f.decision.Flip = fmt.Sprintf("a complexity below %d", f.config.Complexity)
		return true
	}
	return false
}

// makeTracking makes the issue that follows the lineage, if there is room.
func (f *fold) makeTracking(why cause) {
	run, l := f.run(), f.lineage()
	status := l.status()
	if !f.roomToTrack() {
		l.Digest, l.Entry = f.list(f.lineageTitle(l, run))
		return
	}
	l.Issue = lineageIssue(f.tenant, f.lineageOf(run), l.Generation)
	f.create(Issue{
		ID: l.Issue, Kind: Tracking, Status: status, Title: f.lineageTitle(l, run),
		Description: "Follows the work from its start to its end, through retries, re-runs and child runs.",
		Reason:      f.reason(status, why), Created: run.First,
	}, course{Lineage: f.lineageOf(run)})
	f.watch(f.lineageOf(run))
	for _, id := range l.Followups {
		f.link(id, Link{DiscoveredFrom, l.Issue})
	}
	f.linkRegression(l)
}

// linkRegression links the issue of a lineage that fails again, long after it was
// closed, to the one of then.
func (f *fold) linkRegression(l *Lineage) {
	if _, failing := l.failing(); l.Before != "" && (failing || l.ended() && !l.Success) {
		f.link(l.Issue, Link{RegressionOf, l.Before})
	}
}

// lineageTitle returns the ADR's title of the lineage's issue: "GWI: RESOLVE run r1".
func (f *fold) lineageTitle(l *Lineage, run *Run) string {
	if l.Root == "" {
		return f.runTitle(run.Type, run.ID)
	}
	return f.runTitle(l.Type, l.Root)
}

func (f *fold) runTitle(runType, id string) string {
	parts := []string{f.config.TitlePrefix, clean(runType, 40), "run", clean(id, 300)}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// reason returns why the lineage's issue is to have status want.
func (f *fold) reason(want Status, why cause) string {
	l := f.lineage()
	switch want {
	case Closed:
		return ReasonCompleted
	case Blocked:
		role, failing := l.failing()
		switch {
		case why.end && !why.success, l.ended() && !l.Success, !failing:
			return "Run failed"
		case why.bad():
			return sentence(why.name + " failed")
		case role.Name == childRun:
			return "A child run failed"
		}
		return sentence(stepName(role.Name, "") + " failed")
	case InProgress:
		if !l.Finished.isZero() {
			return "Run goes on"
		}
		return "Work goes on"
	case Open, Flapping:
	}
	return ""
}
