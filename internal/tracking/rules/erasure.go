package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Erasure takes the texts of some events out of a tenant's records, wherever the
// heuristics keep them. Ids, times and statuses stay.
type Erasure struct {
	Run    string          // all of this run goes, the names in it too; empty: of no run
	Events []string        // ids of events that go
	Runs   map[string]bool // that these are of
	Issues map[string]bool // issues that lose all their texts
	Text   string          // what stands in the place of texts

	gone map[string]bool // follow-ups that lost their texts
}

// Record returns a record without the texts that go, nil if nothing is left of
// it, and whether it changed. Records are to come in the order of their keys.
func (e *Erasure) Record(k Key, data []byte) (_ []byte, changed bool, err error) {
	if !e.reaches(k, data) {
		return data, false, nil
	}
	switch k.Kind {
	case IssueKind:
		return erased(data, e.issue)
	case runs.kind:
		return erased(data, eraseRun)
	case steps.kind:
		return nil, true, nil
	case lineages.kind:
		return erased(data, func(l *Lineage) { e.lineage(k.ID, l) })
	case indexes.kind:
		return e.index(data)
	case failures.kind:
		return erased(data, e.failure)
	case followups.kind:
		return erased(data, func(u *followup) { e.followup(k.ID, u) })
	case entries.kind:
		return erased(data, e.entry)
	case helds.kind:
		return erased(data, e.held)
	case marks.kind:
		return erased(data, e.mark)
	}
	return data, false, nil
}

// reaches reports whether a record may change: a run and its steps do only if that
// run goes, an event only if edits wait for it.
func (e *Erasure) reaches(k Key, data []byte) bool {
	if k.Kind == marks.kind {
		return bytes.Contains(data, []byte(`"edits":`))
	}
	if k.Kind != runs.kind && k.Kind != steps.kind {
		return true
	}
	return e.Run != "" && (k.ID == e.Run || strings.HasPrefix(k.ID, stepID(e.Run, "")))
}

func (e *Erasure) issue(i *Issue) {
	if e.Issues[i.ID] {
		i.Title, i.Description, i.Reason = e.Text, "", erasedIf(i.Reason, e.Text)
	}
}

func eraseRun(r *Run) {
	r.Type, r.WorkItem, r.Target, r.Roles, r.Bundled = "", "", "", nil, nil
	r.Whole.Step = ""
	for n := range r.Failing {
		r.Failing[n].Step = ""
	}
}

func (e *Erasure) held(h *held) {
	if e.Run != "" && h.Run == e.Run || slices.Contains(e.Events, h.Event) {
		h.Name, h.Role, h.Step, h.Left = e.Text, "", "", nil
	}
}

// mark takes out what people said in edits that wait for an event.
func (e *Erasure) mark(m *mark) {
	for n := range m.Edits {
		if own := &m.Edits[n]; slices.Contains(e.Events, own.Event) {
			own.Title, own.Why = erasedIf(own.Title, e.Text), erasedIf(own.Why, e.Text)
		}
	}
}

// failure takes the message out of a failure that was met in what goes.
func (e *Erasure) failure(fl *failure) {
	if e.Issues[fl.Issue] || e.Issues[fl.Digest] || fl.FirstRun != "" && (fl.FirstRun == e.Run || e.Runs[fl.FirstRun]) {
		fl.Message, fl.Target, fl.Class = erasedIf(fl.Message, e.Text), "", erasedIf(fl.Class, e.Text)
		fl.Type, fl.Role = "", erasedIf(fl.Role, e.Text)
	}
}

// followup takes the words of an item away. One that has no issue of its own is
// part of a bundle, of which nobody knows any more whose items it has.
func (e *Erasure) followup(id string, u *followup) {
	bundled := u.Issue == "" && u.Digest == ""
	if !bundled && !e.Issues[u.Issue] && !e.Issues[u.Digest] && (e.Run == "" || u.Run != e.Run) {
		return
	}
	u.Title, u.Key, u.Target = e.Text, "", ""
	if e.gone == nil {
		e.gone = make(map[string]bool)
	}
	e.gone[id] = true
}

// index takes follow-ups that lost their texts from the words of these.
func (e *Erasure) index(data []byte) (_ []byte, changed bool, err error) {
	left := 0
	data, changed, err = erased(data, func(i *index) {
		i.Followups = slices.DeleteFunc(i.Followups, func(id string) bool { return e.gone[id] })
		left = len(i.Followups)
	})
	if err == nil && left == 0 {
		return nil, true, nil
	}
	return data, changed, err
}

// lineage takes the names away that a run gave to its roles and steps. They stay
// apart from each other: what failed is still to recover.
func (e *Erasure) lineage(id string, l *Lineage) {
	if e.Run == "" {
		return
	}
	own := runLineage(e.Run)
	for n := range l.Roles {
		if r := &l.Roles[n]; id == own || r.Unit == own || r.Unit == "" && l.Root == e.Run {
			r.Name, r.Step = e.Text+" "+strconv.Itoa(n), ""
		}
	}
}

// entry takes the title out of an entry of a digest that loses its texts, or of
// what only the run that goes had.
func (e *Erasure) entry(en *entry) {
	if e.Run != "" && slices.Contains(en.Runs, e.Run) || e.Issues[en.Digest] {
		en.Title = e.Text
	}
}

func erasedIf(text, with string) string {
	if text == "" {
		return ""
	}
	return with
}

// erased changes a record as erase does.
func erased[T any](data []byte, erase func(*T)) (_ []byte, changed bool, err error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, false, fmt.Errorf("decode %T: %w", v, err)
	}
	erase(&v)
	next, err := json.Marshal(v)
	return next, !bytes.Equal(next, data), err
}
