package rules

import "fmt"

// LabelLoop marks a tracking issue whose runs have caused many issues without progress.
const LabelLoop = "loop"

type loopGuard struct {
	draft   *draft
	journal *journal
	stalls  *stallWatch
}

func (g *loopGuard) origin(run string) string {
	if r := runs.get(g.draft.records, run); r != nil {
		return g.draft.lineageOf(r)
	}
	return ""
}

func (g *loopGuard) escalated(run string) bool {
	d := g.draft
	id := g.origin(run)
	if id == "" {
		return false
	}
	l := lineages.edit(d.records, id)
	d.count("loop", l.Created, d.config.Loop)
	if l.Created < d.config.Loop {
		l.Created++
		return false
	}
	d.say("loop", fmt.Sprintf("%d issues came out of this work without progress: no more are made", l.Created))
	d.flip("a successful end of the work, or an issue of it closed by a success")
	if l.Issue == "" {
		l.Issue = lineageIssue(d.tenant, id, l.Generation)
		g.journal.create(Issue{
			ID: l.Issue, Kind: Tracking, Status: l.status(), Title: l.title(d.config, runs.edit(d.records, run)),
			Description: "Made because so many issues came out of this work.",
		}, course{Lineage: id})
		g.stalls.watch(id)
	}
	g.journal.occur(l.Issue)
	if g.journal.label(l.Issue, LabelLoop) {
		g.journal.note(l.Issue, fmt.Sprintf("%d issues came out of this work without progress. Further ones are recorded here only.", l.Created))
	}
	return true
}

func (g *loopGuard) progress(issue string) {
	d := g.draft
	c := courses.get(d.records, issue)
	if c == nil || c.Out == "" || d.isOpen(issue) {
		return
	}
	if id := d.resolve(c.Out); lineages.get(d.records, id) != nil {
		lineages.edit(d.records, id).Created = 0
	}
}
