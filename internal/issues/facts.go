package issues

import (
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// started takes in a run.started.
func (f *fold) started() error {
	d, err := events.Payload[events.RunStartedData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.seen(d.RunType, d.Metadata)
	run := &f.view.Run
	run.Active = run.Active.later(f.stamp)
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
	role = strings.ToUpper(role)
	name := stepName(role, f.event.Step)
	f.advance(status, role)
	late := f.supersede(status, d)
	f.say("step "+stepRule(status), name+" "+stepRule(status))
	f.settle(cause{rule: stepRule(status), step: name, role: role, failure: d.Error})
	if late {
		f.say("late", "a later report of the step was heard before")
		return nil
	}
	left := leftover{source: StepKey(f.event), name: name, metadata: d.Metadata}
	if status == events.StepCompleted || status == events.StepSkipped {
		left.summary = d.OutputSummary
	}
	f.leftovers(left)
	return nil
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
		return "step " + clean(role, 60)
	case step != "":
		return "step " + clean(step, 60)
	}
	return "a step"
}

// seen takes in what every event of a run may say of it.
func (f *fold) seen(runType string, metadata map[string]any) {
	run := &f.view.Run
	run.Tenant, run.ID = f.event.Tenant, f.event.Run
	if runType == "" {
		runType = f.event.RunType
	}
	if run.Type == "" {
		run.Type = strings.ToUpper(strings.TrimSpace(runType))
	}
	if run.First.IsZero() || f.stamp.At.Before(run.First) {
		run.First = f.stamp.At
	}
	run.Declared = max(run.Declared, number(metadata["complexity"]))
}

// advance takes in how a step of role ended.
func (f *fold) advance(status events.StepStatus, role string) {
	run := &f.view.Run
	if status == events.StepPending {
		return
	}
	run.Active = run.Active.later(f.stamp)
	r := run.role(role)
	switch status {
	case events.StepFailed:
		f.failedBy(r)
		return
	case events.StepCompleted:
		f.completedBy(r)
	case events.StepPending, events.StepRunning, events.StepSkipped:
	}
	run.Progress = run.Progress.later(f.stamp)
}

// failedBy takes in that a step of r failed; late, it may have been made good.
func (f *fold) failedBy(r *Role) {
	if r.Failed.before(f.stamp) {
		r.Failed, r.Step = f.stamp, StepKey(f.event)
	}
	if f.stamp.before(f.view.Step.Done) {
		r.Done = r.Done.later(f.stamp)
	}
}

// completedBy takes in that a step of r completed.
func (f *fold) completedBy(r *Role) {
	r.Done = r.Done.later(f.stamp)
	f.view.Step.Done = f.view.Step.Done.later(f.stamp)
	// Another role may complete the step: that makes good its failure, not
	// others of the role that failed.
	for i := range f.view.Run.Roles {
		other := &f.view.Run.Roles[i]
		if other.Step == StepKey(f.event) && other.Failed.before(f.stamp) {
			other.Done = other.Done.later(other.Failed)
		}
	}
}

// supersede makes d the step's latest report, and keeps the run's sums equal to
// the sums over the latest reports of its steps. It reports whether d is older
// than what is known.
func (f *fold) supersede(status events.StepStatus, d events.StepFinishedData) (late bool) {
	run, old := &f.view.Run, f.view.Step
	if !old.At.isZero() && f.stamp.before(old.At) {
		return true
	}
	step := Step{
		Tenant: f.event.Tenant, Run: f.event.Run, ID: StepKey(f.event), At: f.stamp, Done: old.Done,
		Failed: status == events.StepFailed, Files: amount(d.Metadata["files"]),
	}
	if t := d.TokensUsed; t != nil {
		step.Tokens = max(t.Input, 0) + max(t.Output, 0) + max(t.CacheCreation, 0)
	}
	if old.At.isZero() {
		run.Steps++
	}
	if old.Failed {
		run.Retries++
	}
	run.Files += step.Files - old.Files
	run.Tokens += step.Tokens - old.Tokens
	f.view.Step = step
	return false
}

// runFinished takes in a run.finished: the latest one counts.
func (f *fold) runFinished() error {
	d, err := events.Payload[events.RunFinishedData](f.event)
	if err != nil {
		return fmt.Errorf("read data: %w", err)
	}
	f.seen(d.RunType, d.Metadata)
	run := &f.view.Run
	if d.Success {
		run.Settled = run.Settled.later(f.stamp)
	}
	if !run.Finished.isZero() && f.stamp.before(run.Finished) {
		f.occurrence("late", "a later end of the run was heard before")
		return nil
	}
	run.Finished, run.Success = f.stamp, d.Success
	if d.Success {
		f.say("run completed", "the run completed")
	} else {
		f.say("run failed", "the run failed")
	}
	f.settle(cause{rule: "finished", end: true, failure: d.Error})
	left := leftover{name: "the run", metadata: d.Metadata}
	if d.Success {
		left.summary = d.OutputSummary
	}
	f.leftovers(left)
	if d.Success && len(f.decision.Issues) == 0 {
		f.simple()
	}
	return nil
}

// simple says why a run that completed leaves no issue.
func (f *fold) simple() {
	run := &f.view.Run
	if n := run.Deferred + run.Left; n > 0 {
		f.say("left over", "no issue of its own; follow-ups carry what is left over: "+items(n))
		return
	}
	f.say("simple completion", fmt.Sprintf(
		"no issue: complexity %d is below %d, %s, nothing failed for good, nothing is left over",
		run.Complexity(f.config.Signs), f.config.Complexity, f.typeReason()))
	f.decision.Flip = fmt.Sprintf("run type %s, a step of complexity %d or more, a failed step, partial success or deferred work",
		strings.Join(f.config.Tracked, " or "), f.config.Complexity)
}

func (f *fold) typeReason() string {
	if f.view.Run.Type == "" {
		return "the run has no type"
	}
	return "run type " + clean(f.view.Run.Type, 40) + " is not tracked from its start"
}
