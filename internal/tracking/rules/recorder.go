package rules

import (
	"cmp"
	"strings"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/metadata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type recorder struct {
	draft       *draft
	transitions *transitions
}

func (r *recorder) seen(runType string, meta map[string]any) {
	d := r.draft
	run := d.run()
	run.ID = d.event.Run
	run.Type = cmp.Or(run.Type, strings.ToUpper(clean(cmp.Or(runType, d.event.RunType), 60)))
	run.WorkItem = cmp.Or(run.WorkItem, metadata.Name(meta["work_item"]))
	run.Target = cmp.Or(run.Target, metadata.Name(meta["target"]))
	if run.Parent == "" && d.event.ParentRun != run.ID {
		run.Parent = d.event.ParentRun
	}
	if run.First.IsZero() || d.stamp.At.Before(run.First) {
		run.First = d.stamp.At
	}
	run.Declared = max(run.Declared, metadata.Number(meta["complexity"]))
	r.assign(run)
}

func (r *recorder) started() {
	d := r.draft
	run := d.run()
	run.Begun, run.Started = true, run.Started.later(d.stamp)
	d.lineage().starts(run, d.stamp)
}

func (r *recorder) step(role string, status events.StepStatus, data events.StepFinishedData) (late bool) {
	d := r.draft
	run, key := d.run(), StepKey(d.event)
	run.acts(role)
	l := d.lineage()
	step := steps.edit(d.records, stepID(d.event.Run, key))
	if status == events.StepCompleted {
		step.Done = step.Done.later(d.stamp)
	}
	l.advance(run, role, key, status, d.stamp, step.Done)
	return r.supersede(step, status, data)
}

func (r *recorder) supersede(step *Step, status events.StepStatus, data events.StepFinishedData) (late bool) {
	d := r.draft
	if d.stamp.before(step.At) {
		return true
	}
	run := d.run()
	if step.At.isZero() {
		run.Steps++
	}
	if step.Failed {
		run.Retries++
	}
	var tokens int64
	if t := data.TokensUsed; t != nil {
		tokens = max(t.Input, 0) + max(t.Output, 0) + max(t.CacheCreation, 0)
	}
	files := metadata.Amount(data.Metadata["files"])
	run.Files += files - step.Files
	run.Tokens += tokens - step.Tokens
	step.At, step.Failed, step.Files, step.Tokens = d.stamp, status == events.StepFailed, files, tokens
	return false
}

func (r *recorder) ended(success bool) (late bool) {
	d := r.draft
	run := d.run()
	if success {
		run.Settled = run.Settled.later(d.stamp)
	}
	if run.Ended.isZero() || d.stamp.before(run.Ended) {
		run.Ended = d.stamp
	}
	late = d.stamp.before(run.Finished)
	if !late {
		run.Finished, run.Success = d.stamp, success
	}
	d.lineage().ends(run, success, d.stamp)
	return late
}

func (r *recorder) assign(run *Run) {
	d := r.draft
	home := r.home(run)
	switch {
	case run.Lineage == "":
		run.Lineage = home
		r.renew(home, run)
	case d.resolve(run.Lineage) != home:
		d.merge(d.resolve(run.Lineage), home)
	}
	l := d.lineage()
	l.Seen = latest(l.Seen, d.stamp.At)
	if run.Parent == "" {
		l.lead(run)
	}
}

func (r *recorder) home(run *Run) string {
	d := r.draft
	switch {
	case run.Parent != "":
		parent := runs.edit(d.records, run.Parent)
		if parent.Lineage == "" { // the parent has no event yet
			parent.ID, parent.Lineage = run.Parent, runLineage(run.Parent)
		}
		return d.resolve(parent.Lineage)
	case run.WorkItem != "":
		return d.resolve(workLineage(run.Type, run.WorkItem))
	case run.Lineage != "":
		return d.resolve(run.Lineage)
	}
	return runLineage(run.ID)
}

func (r *recorder) renew(id string, run *Run) {
	l := lineages.edit(r.draft.records, id)
	if l.Issue != "" && r.transitions.outlived(l.Issue) {
		*l = Lineage{
			Type: l.Type, Root: l.Root, Generation: l.Generation + 1, Before: l.Issue, Created: l.Created, Seen: l.Seen,
		}
	}
	run.Generation = l.Generation
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
