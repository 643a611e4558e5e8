package rules

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/metadata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type fold struct {
	draft       draft
	journal     journal
	facts       facts
	people      people
	transitions transitions
	digests     digests
	limiter     limiter
	grace       graceQueue
	outages     outageDetector
	stalls      stallWatch
	recorder    recorder
	tracking    tracking
	loops       loopGuard
	failures    failureTracker
	bundles     bundles
	followups   followupTracker
	alarms      alarms
}

func newFold(p *pass, e events.Event, stamp Stamp, now time.Time) *fold {
	f := &fold{draft: draft{
		records: p.records, config: p.config, event: e, stamp: stamp, now: now,
		decision: Decision{
			Tenant: p.tenant, Source: e.Source, Event: e.ID, Kind: e.Kind(), Run: e.Run,
			Time: e.Time.UTC(), Config: p.hash,
		},
	}}
	d := &f.draft
	f.journal = journal{draft: d}
	f.facts = facts{p.records}
	f.people = people{draft: d, journal: &f.journal, facts: f.facts}
	f.transitions = transitions{draft: d, journal: &f.journal, facts: f.facts, people: &f.people}
	f.digests = digests{draft: d, journal: &f.journal}
	f.limiter = limiter{draft: d}
	f.grace = graceQueue{draft: d}
	f.outages = outageDetector{draft: d, facts: f.facts}
	f.stalls = stallWatch{draft: d, journal: &f.journal}
	f.recorder = recorder{draft: d, transitions: &f.transitions}
	f.tracking = tracking{
		draft: d, journal: &f.journal, facts: f.facts, transitions: &f.transitions, digests: &f.digests,
		limiter: &f.limiter, grace: &f.grace, outages: &f.outages, stalls: &f.stalls,
	}
	f.loops = loopGuard{draft: d, journal: &f.journal, stalls: &f.stalls}
	f.failures = failureTracker{
		draft: d, journal: &f.journal, facts: f.facts, people: &f.people, transitions: &f.transitions,
		digests: &f.digests, limiter: &f.limiter, grace: &f.grace, loops: &f.loops,
	}
	f.bundles = bundles{
		draft: d, journal: &f.journal, digests: &f.digests, limiter: &f.limiter, tracking: &f.tracking, loops: &f.loops,
	}
	f.followups = followupTracker{
		draft: d, journal: &f.journal, transitions: &f.transitions, digests: &f.digests, limiter: &f.limiter,
		grace: &f.grace, tracking: &f.tracking, loops: &f.loops, bundles: &f.bundles,
	}
	f.alarms = alarms{draft: d, journal: &f.journal, digests: &f.digests, limiter: &f.limiter}
	return f
}

func (f *fold) decide() error {
	d := &f.draft
	switch kind := d.event.Kind(); {
	case kind == events.IssueEdited:
		return f.people.edited()
	case !d.event.Enabled("beads"):
		d.say("hooks attribute", "not considered: the hooks attribute does not name beads")
		d.flip("beads in the hooks attribute, or no hooks attribute")
		return nil
	case kind == events.ClockTicked:
		f.ticked()
		return nil
	case d.event.Run == "":
		d.say("no run", "the event names no run")
		d.flip("a runid attribute")
		return nil
	case kind == events.RunStarted:
		return f.started()
	case kind == events.StepFinished:
		return f.stepFinished()
	case kind == events.RunFinished:
		return f.runFinished()
	case kind == events.Error:
		return f.errored()
	case kind == events.RunSealed:
		d.say("seal", "a seal says which events of the run there are, nothing about its work")
		return nil
	default:
		f.recorder.seen("", nil)
		f.tracking.follow(cause{rule: "run record"}, "a record about the run says nothing about its work")
		return nil
	}
}

func (f *fold) ticked() {
	if len(f.draft.decision.Effects) == 0 {
		f.draft.say("clock", "the clock moved; nothing waited for it")
		return
	}
	f.draft.say("clock", "the clock moved")
}

func (f *fold) errored() error {
	data, err := events.Payload[events.ErrorData](f.draft.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.recorder.seen("", nil)
	f.tracking.follow(cause{rule: "error", failure: troubleOf(&data.Error, "", nil)},
		"an error alone decides nothing: its step or run has still to end")
	f.draft.flip("a step that ends as failed")
	return nil
}

func (f *fold) started() error {
	data, err := events.Payload[events.RunStartedData](f.draft.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.recorder.seen(data.RunType, data.Metadata)
	f.recorder.started()
	f.draft.say("run started", "the run started")
	f.settle(cause{rule: "started"})
	return nil
}

func (f *fold) stepFinished() error {
	d := &f.draft
	data, err := events.Payload[events.StepFinishedData](d.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	failure := troubleOf(data.Error, data.OutputSummary, data.Metadata)
	status := failure.ofStep(data.StepStatus)
	f.recorder.seen(data.RunType, data.Metadata)
	role := strings.ToUpper(clean(cmp.Or(data.AgentRole, d.event.AgentRole), 60))
	late := f.recorder.step(role, status, data)
	step := stepName(role, d.event.Step)
	d.say("step "+string(status), step+" "+string(status))
	target := metadata.Name(data.Metadata["target"])
	f.settle(cause{
		rule: string(status), name: step, role: role, step: StepKey(d.event), target: target,
		failure: failure, critical: metadata.IsCritical(data.Metadata),
	})
	if late {
		d.say("late", "a later report of the step was heard before")
		return nil
	}
	left := leftover{Step: StepKey(d.event), Name: step, Target: target}
	summary := ""
	if status == events.StepCompleted || status == events.StepSkipped {
		summary = data.OutputSummary
	}
	f.followups.report(left, data.Metadata, summary)
	if status == events.StepCompleted {
		f.followups.done(data.OutputSummary, left.Target)
	}
	return nil
}

func (f *fold) runFinished() error {
	d := &f.draft
	data, err := events.Payload[events.RunFinishedData](d.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.recorder.seen(data.RunType, data.Metadata)
	failure := troubleOf(data.Error, data.OutputSummary, data.Metadata)
	switch status := failure.ofRun(data.Status()); status {
	case events.RunInterrupted, events.RunUnknown:
		f.cutOff(status)
		return nil
	case events.RunCompleted, events.RunFailed:
	}
	success := data.Status() == events.RunCompleted
	if late := f.recorder.ended(success); late {
		f.tracking.follow(cause{rule: "late"}, "a later end of the run was heard before")
		return nil
	}
	rule, reason := "run failed", "the run failed"
	if success {
		rule, reason = "run completed", "the run completed"
	}
	d.say(rule, reason)
	target := metadata.Name(data.Metadata["target"])
	f.settle(cause{
		rule: "finished", end: true, success: success, name: "the run", target: target, failure: failure, critical: metadata.IsCritical(data.Metadata),
	})
	left := leftover{Name: "the run", Target: target}
	if !success {
		f.followups.report(left, data.Metadata, "")
		return nil
	}
	f.followups.report(left, data.Metadata, data.OutputSummary)
	f.followups.done(data.OutputSummary, left.Target)
	if len(d.decision.Issues) == 0 {
		f.simple()
	}
	return nil
}

func (f *fold) cutOff(status events.RunStatus) {
	rule, reason := "run interrupted", "the run was interrupted"
	if status == events.RunUnknown {
		rule, reason = "run cut off", "nothing says how the run ended"
	}
	f.draft.say(rule, reason)
	f.settle(cause{rule: string(status)})
}

func (f *fold) simple() {
	d := &f.draft
	run := d.run()
	if n := run.Deferred + run.Remaining; n > 0 {
		d.say("left over", "no issue of its own; follow-ups carry what is left over: "+items(n))
		return
	}
	d.say("simple completion", fmt.Sprintf(
		"no issue: complexity %d is below %d, %s, nothing failed for good, nothing is left over",
		run.Complexity(d.config.Signs), d.config.Complexity, run.typeReason()))
	d.flip(fmt.Sprintf("run type %s, a step of complexity %d or more, a failed step, partial success or deferred work",
		strings.Join(d.config.Tracked, " or "), d.config.Complexity))
}

func (f *fold) settle(why cause) {
	d := &f.draft
	run, l := d.run(), d.lineage()
	d.count("complexity", run.Complexity(d.config.Signs), d.config.Complexity)
	if run.Generation < l.Generation {
		d.say("earlier generation", "the run is one of those before its work was closed for long")
		f.journal.occur(lineageIssue(d.tenant, d.lineageID(), run.Generation))
		return
	}
	if why.end && why.success && run.Parent == "" {
		l.Created = 0
	}
	if !f.tracking.start(why) && !f.tracking.update(why) {
		if why.bad() {
			f.failures.fail(why)
		} else if !why.end {
			f.tracking.explainNothing()
		}
	}
	if why.good() {
		f.failures.succeed(why)
	}
}

func (f *fold) stands(in incident) bool {
	if in.Lineage != "" {
		return f.facts.blocks(in)
	}
	_, inhibited := f.facts.inhibitor(in)
	return !f.facts.recovered(in) && !inhibited && f.facts.follower(in.Run) == ""
}

func (f *fold) endIncident(in incident) bool {
	if in.Lineage != "" {
		return f.tracking.endIncident(in)
	}
	return f.failures.endIncident(in)
}

func (f *fold) isLatest(w waiting) bool {
	if w.Left.Step == "" {
		return f.draft.run().Finished.N == w.At.N
	}
	step := steps.get(f.draft.records, stepID(w.Run, w.Left.Step))
	return step != nil && step.At.N == w.At.N
}

func (f *fold) runDue(due []Timer) {
	for _, t := range due {
		f.draft.as(t.At, func() {
			switch kind, subject, _ := strings.Cut(t.ID, "/"); kind {
			case quietKind:
				f.transitions.endFlapping(subject)
			case stallKind:
				f.stalls.stall(subject)
			case digestKind:
				f.digests.describe(subject)
			}
		})
	}
}
