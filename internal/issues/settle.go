package issues

import (
	"fmt"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ReasonCompleted closes the issue of a run that completed.
const ReasonCompleted = "Run completed successfully"

// cause is what made a run's own issue worth another look.
type cause struct {
	rule    string
	step    string // name of the step, for people
	role    string // of the step
	end     bool   // the run's end
	failure *events.Failure
}

// settle makes the run's own issue if it is due, or moves it to where the run
// stands now.
func (f *fold) settle(why cause) {
	run := &f.view.Run
	f.count("complexity", run.Complexity(f.config.Signs), f.config.Complexity)
	want := run.status()
	if run.Issue != "" {
		f.move(run.Issue, want, f.reason(want, why))
		return
	}
	kind, due := f.due(want, why)
	if !due {
		return
	}
	f.create(f.ownIssue(kind, want, why))
	run.Issue = runIssueID(run.Tenant, run.ID)
	for _, issue := range f.view.Issues {
		if issue.Kind == Followup {
			f.link(issue.ID, Link{Type: DiscoveredFrom, ID: run.Issue})
		}
	}
}

// due reports whether the run gets an issue now, and of which kind.
func (f *fold) due(want Status, why cause) (kind Kind, due bool) {
	run := &f.view.Run
	complexity := run.Complexity(f.config.Signs)
	switch {
	case f.config.tracks(run.Type):
		f.say("tracked type", "run type "+run.Type+" is tracked from its start")
		f.decision.Flip = "another run type"
		return Tracking, true
	case complexity >= f.config.Complexity && (!why.end || want != Closed):
		f.say("complexity", fmt.Sprintf("complexity %d reaches %d", complexity, f.config.Complexity))
		f.decision.Flip = fmt.Sprintf("a complexity below %d", f.config.Complexity)
		return Tracking, true
	case want == Blocked:
		f.say("failure", "nothing followed the run before it failed")
		f.decision.Flip = "success"
		return Failure, true
	case why.rule == string(events.StepFailed):
		f.say("recovered before", "the run went on past this failure before it was heard of")
		f.decision.Flip = "a failure later than what the run did since"
	case !why.end:
		f.say("nothing to track", fmt.Sprintf("no issue: complexity %d is below %d and %s",
			complexity, f.config.Complexity, f.typeReason()))
		f.decision.Flip = fmt.Sprintf("run type %s or a complexity of %d or more",
			strings.Join(f.config.Tracked, " or "), f.config.Complexity)
	}
	return "", false
}

// ownIssue returns the issue to make for the run.
func (f *fold) ownIssue(kind Kind, status Status, why cause) Issue {
	run := &f.view.Run
	issue := Issue{
		ID: runIssueID(run.Tenant, run.ID), Kind: kind, Status: status,
		Title:       f.runTitle(),
		Description: "Follows the run from its start to its end.",
		Reason:      f.reason(status, why),
		Created:     run.First,
	}
	if kind == Failure {
		issue.Title = f.runTitle() + " failed"
		issue.Description = "The run failed and nothing followed it before."
		if why.role != "" {
			issue.Title = f.runTitle() + ": " + why.step + " failed"
		}
		if why.failure != nil && why.failure.Message != "" {
			issue.Description += "\n\n" + clean(why.failure.Message, 2000)
		}
	}
	return issue
}

// runTitle returns the ADR's title of the run's issue: "GWI: RESOLVE run r1".
func (f *fold) runTitle() string {
	parts := []string{f.config.TitlePrefix, clean(f.view.Run.Type, 40), "run", clean(f.view.Run.ID, 300)}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// reason returns why the run's own issue is to have status want.
func (f *fold) reason(want Status, why cause) string {
	run := &f.view.Run
	switch want {
	case Closed:
		return ReasonCompleted
	case Blocked:
		if run.ended() {
			return "Run failed"
		}
		if why.rule == string(events.StepFailed) {
			return sentence(why.step + " failed")
		}
		role, _ := run.failing()
		return sentence(stepName(role.Name, role.Step) + " failed")
	case InProgress:
		if !run.Finished.isZero() {
			return "Run goes on"
		}
		return "Work goes on"
	case Open:
	}
	return ""
}

// create makes issue, and records that the event belongs to it.
func (f *fold) create(issue Issue) {
	issue.Tenant, issue.Run = f.event.Tenant, f.event.Run
	issue.Updated = f.stamp.At
	if issue.Created.IsZero() {
		issue.Created = f.stamp.At
	}
	if issue.Status == Closed {
		// The run ended before this was heard of.
		issue.Updated = f.view.Run.Finished.At
		issue.Closed = issue.Updated
	}
	f.view.Issues = insertIssue(f.view.Issues, issue)
	made := issue
	f.effect(Effect{Op: OpCreate, ID: issue.ID, At: issue.Updated, Issue: &made, To: issue.Status, Reason: issue.Reason})
	f.reasons = append(f.reasons, fmt.Sprintf("made %s issue %s, %s", issue.Kind, issue.ID, issue.Status))
}

// move brings the issue id to status to. The event belongs to the issue even if
// it is there already.
func (f *fold) move(id string, to Status, reason string) {
	f.touch(id)
	issue := f.issue(id)
	if issue == nil {
		return
	}
	from, again := issue.Status, f.endsAgain(issue, to)
	if from == to && !again {
		f.say("same status", fmt.Sprintf("issue %s stays %s", id, to))
		f.decision.Flip = leaves(to)
		return
	}
	issue.Status, issue.Reason = to, reason
	if f.stamp.At.After(issue.Updated) {
		issue.Updated = f.stamp.At
	}
	issue.Closed = time.Time{}
	if to == Closed {
		issue.Closed = issue.Updated
	}
	f.effect(Effect{Op: OpTransition, ID: id, At: issue.Updated, To: to, Reopen: from == Closed, Reason: reason})
	f.say(string(to), fmt.Sprintf("issue %s moved from %s to %s", id, from, to))
	f.decision.Flip = keeps(to)
}

// endsAgain reports whether the run's own issue was closed by an end of the run
// that is no longer the latest: the latest one dates it.
func (f *fold) endsAgain(issue *Issue, to Status) bool {
	return to == Closed && issue.Status == Closed && issue.ID == f.view.Run.Issue &&
		issue.Closed.Before(f.view.Run.Finished.At) && f.event.Kind() == events.RunFinished
}

// keeps says what would have kept an issue from moving to status s.
func keeps(s Status) string {
	switch s {
	case Closed:
		return "an end of the run without success"
	case Blocked:
		return "success"
	case InProgress:
		return "no sign of work after it"
	case Open:
	}
	return "no work in it"
}

// leaves says what would have moved an issue out of status s.
func leaves(s Status) string {
	switch s {
	case Closed:
		return "an event later than the end of the run"
	case Blocked:
		return "a completed step of the role that failed, or a successful end of the run"
	case InProgress:
		return "a failed step, or the end of the run"
	case Open:
	}
	return "a completed or failed step, or the end of the run"
}
