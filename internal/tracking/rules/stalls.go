package rules

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// LabelStalled marks a tracking issue whose runs have had no events for a long time.
const LabelStalled = "stalled"

type stallWatch struct {
	draft   *draft
	journal *journal
}

func (w *stallWatch) watch(lineage string) {
	l := lineages.edit(w.draft.records, lineage)
	if l.Watched {
		return
	}
	l.Watched = true
	w.draft.setTimer(stallKind+"/"+lineage, after(l.Seen, w.draft.config.Stalled))
}

func (w *stallWatch) alive() {
	d := w.draft
	if kind := d.event.Kind(); d.event.Run == "" || kind == events.Custom || kind == events.ClockTicked || isRecord(kind) {
		return
	}
	run := runs.get(d.records, d.event.Run)
	if run == nil {
		return
	}
	id := d.lineageOf(run)
	if l := lineages.get(d.records, id); l != nil && d.stamp.At.After(l.Seen) {
		lineages.edit(d.records, id).Seen = d.stamp.At
	}
}

func (w *stallWatch) inactive(id string, now time.Time) bool {
	d := w.draft
	id = d.resolve(id)
	l := lineages.get(d.records, id)
	if l == nil {
		return false
	}
	if end := after(l.Seen, d.config.Stalled); !l.Silent && end.After(now) {
		d.setTimer(stallKind+"/"+id, end)
		return false
	}
	changed := lineages.edit(d.records, id)
	changed.Silent = changed.Silent || !l.ended() || l.Finished.before(l.Started)
	changed.Watched = changed.Silent
	return changed.Silent
}

func (w *stallWatch) stall(id string) {
	d := w.draft
	l := lineages.edit(d.records, d.resolve(id))
	l.Silent, l.Watched = false, false
	if d.isOpen(l.Issue) && w.journal.label(l.Issue, LabelStalled) {
		d.say("stalled", fmt.Sprintf("nothing was heard of issue %s for %s", l.Issue, FormatDuration(d.config.Stalled)))
	}
}
