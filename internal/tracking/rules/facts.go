package rules

import (
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// run returns the run of the event, to be changed.
func (f *fold) run() *Run { return runs.edit(f.state, f.tenant, f.event.Run) }

// seen takes in what every event of a run may say of it.
func (f *fold) seen(runType string, metadata map[string]any) {
	run := f.run()
	run.ID = f.event.Run
	if runType == "" {
		runType = f.event.RunType
	}
	if run.Type == "" {
		run.Type = strings.ToUpper(clean(runType, 60))
	}
	if run.WorkItem == "" {
		run.WorkItem = name(metadata["work_item"])
	}
	if run.Target == "" {
		run.Target = name(metadata["target"])
	}
	if run.Parent == "" && f.event.ParentRun != run.ID {
		run.Parent = f.event.ParentRun
	}
	if run.First.IsZero() || f.stamp.At.Before(run.First) {
		run.First = f.stamp.At
	}
	run.Declared = max(run.Declared, number(metadata["complexity"]))
	f.place(run)
}

// started takes in a run.started.
func (f *fold) started() error {
	d, err := events.Payload[events.RunStartedData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.seen(d.RunType, d.Metadata)
	f.run().Begun, f.run().Started = true, f.run().Started.later(f.stamp)
	f.lineage().starts(f.run(), f.stamp)
	f.say("run started", "the run started")
	f.settle(cause{rule: "started"})
	return nil
}

// stepFinished takes in a step.finished, which may be a later version of one
// that came before.
func (f *fold) stepFinished() error {
	d, err := events.Payload[events.StepFinishedData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	status := events.StepStatus(strings.ToLower(string(d.StepStatus)))
	f.seen(d.RunType, d.Metadata)
	role := d.AgentRole
	if role == "" {
		role = f.event.AgentRole
	}
	role = strings.ToUpper(clean(role, 60))
	f.run().acts(role)
	f.lineage().advance(f.run(), role, StepKey(f.event), status, f.stamp, f.stepDone(status))
	late := f.supersede(status, d)
	step := stepName(role, f.event.Step)
	f.say("step "+stepRule(status), step+" "+stepRule(status))
	f.settle(cause{
		rule: stepRule(status), name: step, role: role, step: StepKey(f.event), target: name(d.Metadata["target"]),
		failure: failureOf(d.Error, d.OutputSummary, d.Metadata), critical: isCritical(d.Metadata),
	})
	if late {
		f.say("late", "a later report of the step was heard before")
		return nil
	}
	left := leftover{Step: StepKey(f.event), Name: step, Target: name(d.Metadata["target"])}
	summary := ""
	if status == events.StepCompleted || status == events.StepSkipped {
		summary = d.OutputSummary
	}
	f.leftovers(left, d.Metadata, summary)
	if status == events.StepCompleted {
		f.done(d.OutputSummary, left.Target)
	}
	return nil
}

// stepDone returns when the step of the event was completed last.
func (f *fold) stepDone(status events.StepStatus) Stamp {
	step := steps.edit(f.state, f.tenant, stepID(f.event.Run, StepKey(f.event)))
	if status == events.StepCompleted {
		step.Done = step.Done.later(f.stamp)
	}
	return step.Done
}

// stepRule returns the status as rules and reasons say it.
func stepRule(s events.StepStatus) string {
	switch s {
	case events.StepCompleted, events.StepFailed, events.StepSkipped, events.StepRunning, events.StepPending:
		return string(s)
	}
	return "of unknown status"
}

func stepName(role, step string) string {
	switch {
	case role != "":
		return "step " + role
	case step != "":
		return "step " + clean(step, 60)
	}
	return "a step"
}

// supersede makes d the step's latest report, and keeps the run's sums equal to
// the sums over the latest reports of its steps. It reports whether d is older
// than what is known.
func (f *fold) supersede(status events.StepStatus, d events.StepFinishedData) (late bool) {
	run, step := f.run(), steps.edit(f.state, f.tenant, stepID(f.event.Run, StepKey(f.event)))
	if f.stamp.before(step.At) {
		return true
	}
	if step.At.isZero() {
		run.Steps++
	}
	if step.Failed {
		run.Retries++
	}
	var tokens int64
	if t := d.TokensUsed; t != nil {
		tokens = max(t.Input, 0) + max(t.Output, 0) + max(t.CacheCreation, 0)
	}
	files := amount(d.Metadata["files"])
	run.Files += files - step.Files
	run.Tokens += tokens - step.Tokens
	step.At, step.Failed, step.Files, step.Tokens = f.stamp, status == events.StepFailed, files, tokens
	return false
}

// runFinished takes in a run.finished: the latest one counts.
func (f *fold) runFinished() error {
	d, err := events.Payload[events.RunFinishedData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.seen(d.RunType, d.Metadata)
	run := f.run()
	if d.Success {
		run.Settled = run.Settled.later(f.stamp)
	}
	if run.Ended.isZero() || f.stamp.before(run.Ended) {
		run.Ended = f.stamp
	}
	late := f.stamp.before(run.Finished)
	if !late {
		run.Finished, run.Success = f.stamp, d.Success
	}
	f.lineage().ends(run, d.Success, f.stamp)
	if late {
		f.follow(cause{rule: "late"}, "a later end of the run was heard before")
		return nil
	}
	rule, reason := "run failed", "the run failed"
	if d.Success {
		rule, reason = "run completed", "the run completed"
	}
	f.say(rule, reason)
	f.settle(cause{
		rule: "finished", end: true, success: d.Success, name: "the run", target: name(d.Metadata["target"]),
		failure: failureOf(d.Error, d.OutputSummary, d.Metadata), critical: isCritical(d.Metadata),
	})
	left := leftover{Name: "the run", Target: name(d.Metadata["target"])}
	if !d.Success {
		f.leftovers(left, d.Metadata, "")
		return nil
	}
	f.leftovers(left, d.Metadata, d.OutputSummary)
	f.done(d.OutputSummary, left.Target)
	if len(f.decision.Issues) == 0 {
		f.simple()
	}
	return nil
}

// simple says why a run that completed leaves no issue.
func (f *fold) simple() {
	run := f.run()
	if n := run.Deferred + run.Remaining; n > 0 {
		f.say("left over", "no issue of its own; follow-ups carry what is left over: "+items(n))
		return
	}
	f.say("simple completion", fmt.Sprintf(
		"no issue: complexity %d is below %d, %s, nothing failed for good, nothing is left over",
		run.Complexity(f.config.Signs), f.config.Complexity, run.typeReason()))
	f.decision.Flip = fmt.Sprintf("run type %s, a step of complexity %d or more, a failed step, partial success or deferred work",
		strings.Join(f.config.Tracked, " or "), f.config.Complexity)
}

func (r *Run) typeReason() string {
	if r.Type == "" {
		return "the run has no type"
	}
	return "run type " + clean(r.Type, 40) + " is not tracked from its start"
}
