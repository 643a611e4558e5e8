package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ReasonCompleted is the reason for closing an issue whose run completed.
const ReasonCompleted = "Run completed successfully"

const (
	maxPending   = 50
	followsWork  = "Follows the work from its start to its end, through retries, re-runs and child runs."
	latestReason = "\n\nLatest failure: "
)

type cause struct {
	rule     string
	name     string // for people
	role     string
	step     string // step key. Empty for the end of the run
	target   string
	end      bool
	success  bool // result of the end
	failure  trouble
	critical bool
}

func (c cause) good() bool { return c.rule == string(events.StepCompleted) || c.end && c.success }

func (c cause) bad() bool { return c.rule == string(events.StepFailed) || c.end && !c.success }

type tracking struct {
	draft       *draft
	journal     *journal
	facts       facts
	transitions *transitions
	digests     *digests
	limiter     *limiter
	grace       *graceQueue
	outages     *outageDetector
	stalls      *stallWatch
}

func (t *tracking) follow(why cause, reason string) {
	t.draft.say(why.rule, reason)
	t.start(why)
	t.journal.occur(t.draft.lineage().follower())
}

func (t *tracking) start(why cause) bool {
	d := t.draft
	run, l := d.run(), d.lineage()
	if l.Digest != "" && !d.isOpen(l.Digest) {
		l.Digest = ""
	}
	if l.follower() != "" || run.Generation < l.Generation || !t.due(why) {
		return false
	}
	if id := t.facts.failureIssue(run); id != "" && !t.outages.ignores(run, id) {
		d.say("failure known", "issue "+id+" is about a failure of the run already")
		t.journal.occur(id)
		return false
	}
	t.create(why)
	return true
}

func (t *tracking) due(why cause) bool {
	d := t.draft
	run, complexity := d.run(), d.run().Complexity(d.config.Signs)
	switch {
	case t.outages.covers(why):
		return false
	case d.config.tracks(run.Type):
		d.say("tracked type", "run type "+run.Type+" is tracked from its start")
		d.flip("another run type")
		return true
	case complexity >= d.config.Complexity && (!why.end || d.lineage().status() != Closed):
		d.say("complexity", fmt.Sprintf("complexity %d reaches %d", complexity, d.config.Complexity))
		d.flip(fmt.Sprintf("a complexity below %d", d.config.Complexity))
		return true
	}
	return false
}

func (t *tracking) create(why cause) {
	d := t.draft
	run, l := d.run(), d.lineage()
	status := l.status()
	if !t.limiter.allowTracking() {
		l.Digest, l.Entry = t.digests.add(l.title(d.config, run))
		return
	}
	l.Issue = lineageIssue(d.tenant, d.lineageID(), l.Generation)
	t.journal.create(Issue{
		ID: l.Issue, Kind: Tracking, Status: status, Title: l.title(d.config, run),
		Description: followsWork, Reason: t.reason(status, why), Created: run.First,
	}, course{Lineage: d.lineageID()})
	t.explainBlock(l.Issue)
	t.stalls.watch(d.lineageID())
	for _, id := range l.Followups {
		t.journal.link(id, Link{DiscoveredFrom, l.Issue})
	}
	t.linkRegression(l)
}

func (t *tracking) update(why cause) bool {
	d := t.draft
	l := d.lineage()
	if l.Issue == "" {
		if l.Digest != "" {
			t.digests.repeat(l.Digest, l.Entry)
		}
		return l.Digest != ""
	}
	if t.delay(why) {
		return true
	}
	t.journal.occur(l.Issue)
	status := t.wanted(l, why)
	t.transitions.move(l.Issue, status, motive{reason: t.reason(status, why), failure: why.bad(), run: d.run()})
	t.explainBlock(l.Issue)
	t.linkRegression(l)
	if d.isOpen(l.Issue) {
		t.stalls.watch(d.lineageID())
	}
	return true
}

func (t *tracking) wanted(l *Lineage, why cause) Status {
	status := l.status()
	immediate := why.bad() && (why.end || why.critical)
	if status == Blocked && !immediate && t.delayed(l) {
		return l.working()
	}
	return status
}

func (t *tracking) delay(why cause) bool {
	d := t.draft
	run, l := d.run(), d.lineage()
	t.transitions.calm(l.Issue)
	status := d.status(l.Issue)
	if len(d.decision.Effects) > 0 || why.end || !why.bad() || why.critical || status == Blocked || status == Flapping || l.ended() {
		return false
	}
	in := incident{
		Lineage: d.lineageID(), Unit: run.unit(), Role: why.role, Run: run.ID, Step: why.step, Name: why.name,
		Text: why.failure.say(), At: d.stamp,
	}
	if !t.facts.blocks(in) {
		return false
	}
	t.grace.add(in)
	return true
}

func (t *tracking) delayed(l *Lineage) bool {
	return t.draft.status(l.Issue) != Blocked && !l.ended() && t.grace.has(t.draft.lineageID())
}

func (t *tracking) endIncident(in incident) bool {
	d := t.draft
	l := lineages.edit(d.records, d.resolve(in.Lineage))
	t.journal.occur(l.follower())
	if !t.facts.blocks(in) {
		d.recovered()
		return false
	}
	t.transitions.move(l.Issue, Blocked, motive{reason: failed(in.Name, in.Text), failure: true, run: runs.get(d.records, in.Run)})
	t.explainBlock(l.Issue)
	t.linkRegression(l)
	return true
}

// explainBlock writes the reason of a blocked issue into its description, because Beads stores no
// reason for this status.
func (t *tracking) explainBlock(id string) {
	issue := issues.get(t.draft.records, id)
	if issue == nil || issue.Status != Blocked || issue.Reason == "" || !strings.HasPrefix(issue.Description, followsWork) {
		return
	}
	t.journal.describe(id, followsWork+latestReason+issue.Reason)
}

func (t *tracking) linkRegression(l *Lineage) {
	if _, failing := l.failing(); l.Before != "" && (failing || l.ended() && !l.Success) {
		t.journal.link(l.Issue, Link{RegressionOf, l.Before})
	}
}

func (t *tracking) linkFollowup(id string) {
	d := t.draft
	l := d.lineage()
	source := l.Issue
	if source == "" {
		source = t.facts.failureIssue(d.run())
	}
	if source != "" {
		t.journal.link(id, Link{DiscoveredFrom, source})
	}
	if l.Issue == "" && len(l.Followups) < maxPending && !slices.Contains(l.Followups, id) {
		l.Followups = append(l.Followups, id)
	}
}

func (t *tracking) explainNothing() {
	d := t.draft
	d.say("nothing to track", fmt.Sprintf("no issue: complexity %d is below %d and %s",
		d.run().Complexity(d.config.Signs), d.config.Complexity, d.run().typeReason()))
	d.flip(fmt.Sprintf("run type %s or a complexity of %d or more",
		strings.Join(d.config.Tracked, " or "), d.config.Complexity))
}

func (t *tracking) reason(status Status, why cause) string {
	l := t.draft.lineage()
	switch status {
	case Closed:
		return ReasonCompleted
	case Blocked:
		role, failing := l.failing()
		switch {
		case why.end && !why.success, l.ended() && !l.Success, !failing:
			return failed("run", cmp.Or(why.failure.say(), t.grace.text(t.draft.lineageID())))
		case why.bad():
			return failed(why.name, why.failure.say())
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
