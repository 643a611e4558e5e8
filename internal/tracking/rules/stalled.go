package rules

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// LabelStalled is the label of an issue whose work was not heard of for long.
const LabelStalled = "stalled"

// watch looks after a lineage that has an issue, unless it does already.
func (f *fold) watch(lineage string) {
	l := lineages.edit(f.state, f.tenant, lineage)
	if l.Watched {
		return
	}
	l.Watched = true
	f.state.setTimer(f.tenant, stallKind+"/"+lineage, after(l.Seen, f.config.Stalled))
}

// alive notes that something was heard of the lineage of an event's run, if the
// run is known.
func (p *pass) alive(e events.Event, at time.Time) {
	if kind := e.Kind(); e.Run == "" || kind == events.Custom || kind == events.ClockTicked || isRecord(kind) {
		return
	}
	run := runs.get(p.state, p.tenant, e.Run)
	if run == nil {
		return
	}
	id := p.lineageOf(run)
	if l := lineages.get(p.state, p.tenant, id); l != nil && at.After(l.Seen) {
		lineages.edit(p.state, p.tenant, id).Seen = at
	}
}

// silent reports whether nothing was heard of a lineage for long. If something was,
// it is looked at again later.
func (p *pass) silent(id string) bool {
	id = p.resolve(id)
	l := lineages.get(p.state, p.tenant, id)
	if l == nil {
		return false
	}
	if quiet := after(l.Seen, p.config.Stalled); !l.Silent && quiet.After(p.now) {
		p.state.setTimer(p.tenant, stallKind+"/"+id, quiet)
		return false
	}
	own := lineages.edit(p.state, p.tenant, id)
	own.Silent = own.Silent || !l.ended() || l.Finished.before(l.Started)
	own.Watched = own.Silent
	return own.Silent
}

// stall labels the issue of a lineage that was silent although its work has not
// ended.
func (f *fold) stall(id string) {
	l := lineages.edit(f.state, f.tenant, f.resolve(id))
	l.Silent, l.Watched = false, false
	if f.isOpen(l.Issue) && f.label(l.Issue, LabelStalled) {
		f.say("stalled", fmt.Sprintf("nothing was heard of issue %s for %s", l.Issue, formatDuration(f.config.Stalled)))
	}
}
