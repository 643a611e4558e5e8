package rules

import "fmt"

// LabelLoop is the label of an issue whose work makes issues and gets nowhere.
const LabelLoop = "loop"

// out returns the lineage out of which an issue about the run is made.
func (f *fold) out(run string) string {
	if r := runs.get(f.state, f.tenant, run); r != nil {
		return f.lineageOf(r)
	}
	return ""
}

// escalated reports whether so many issues came out of the lineage of a run, with
// no progress in it, that there are to be no more: the event is recorded with the
// lineage's issue, which says so once. Otherwise it counts one more.
func (f *fold) escalated(run string) bool {
	id := f.out(run)
	if id == "" {
		return false
	}
	l := lineages.edit(f.state, f.tenant, id)
	f.count("loop", l.Created, f.config.Loop)
	if l.Created < f.config.Loop {
		l.Created++
		return false
	}
	f.say("loop", fmt.Sprintf("%d issues came out of this work without progress: no more are made", l.Created))
	f.decision.Flip = "a successful end of the work, or an issue of it closed by a success"
	if l.Issue == "" {
		l.Issue = lineageIssue(f.tenant, id, l.Generation)
		f.create(Issue{
			ID: l.Issue, Kind: Tracking, Status: l.status(), Title: f.lineageTitle(l, runs.edit(f.state, f.tenant, run)),
			Description: "Made because so many issues came out of this work.",
		}, course{Lineage: id})
		f.watch(id)
	}
	f.occur(l.Issue)
	if f.label(l.Issue, LabelLoop) {
		f.note(l.Issue, fmt.Sprintf("%d issues came out of this work without progress. Further ones are recorded here only.", l.Created))
	}
	return true
}

// progress notes that an issue was closed by a success: the lineage out of which
// it was made gets on.
func (f *fold) progress(issue string) {
	c := courses.get(f.state, f.tenant, issue)
	if c == nil || c.Out == "" || f.isOpen(issue) {
		return
	}
	if id := f.resolve(c.Out); lineages.get(f.state, f.tenant, id) != nil {
		lineages.edit(f.state, f.tenant, id).Created = 0
	}
}
