package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Erasure removes the texts of erased events from the stored records of a tenant. It is not safe
// for concurrent use.
type Erasure struct {
	Run    string // run whose texts and names are all erased, or empty
	Events []string
	Runs   map[string]bool // runs that Events belong to
	Issues map[string]bool // issues whose texts are all erased
	Text   string

	erased map[string]bool // follow-ups erased so far
	events map[string]bool // the elements of Events
}

// Record returns a copy of a record without the erased texts, or nil if the record must be deleted.
//
// Pass all records of follow-ups before the records of the word index. Record removes the erased
// follow-ups from the index, so it must know them.
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
	case wordIndexes.kind:
		return e.index(data)
	case failures.kind:
		return erased(data, e.failure)
	case followups.kind:
		return erased(data, func(u *followup) { e.followup(k.ID, u) })
	case entries.kind:
		return erased(data, e.entry)
	}
	return e.eventRecord(k, data)
}

func (e *Erasure) eventRecord(k Key, data []byte) (_ []byte, changed bool, err error) {
	switch k.Kind {
	case waitings.kind:
		return erased(data, e.waiting)
	case marks.kind:
		return erased(data, func(m *mark) { e.mark(k.ID, m) })
	case denials.kind:
		return erased(data, func(d *denial) { e.denial(k.ID, d) })
	}
	return data, false, nil
}

func (e *Erasure) reaches(k Key, data []byte) bool {
	if k.Kind == marks.kind {
		return e.hasEvent(k.ID) || bytes.Contains(data, []byte(`"edits":`))
	}
	if k.Kind != runs.kind && k.Kind != steps.kind {
		return true
	}
	return e.Run != "" && (k.ID == e.Run || strings.HasPrefix(k.ID, stepID(e.Run, "")))
}

func (e *Erasure) denial(id string, d *denial) {
	ofRun := e.Run != "" && strings.HasPrefix(id, denialID(e.Run, ""))
	for n := range d.Results {
		if r := &d.Results[n]; ofRun || slices.Contains(e.Events, r.Event) {
			r.Tool = erasedIf(r.Tool, e.Text)
		}
	}
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

func (e *Erasure) waiting(w *waiting) {
	if e.Run != "" && w.Run == e.Run || slices.Contains(e.Events, w.Event) {
		w.Name, w.Role, w.Step, w.Text, w.Left = e.Text, "", "", "", nil
	}
}

func (e *Erasure) hasEvent(mark string) bool {
	if e.events == nil {
		e.events = make(map[string]bool, len(e.Events))
		for _, id := range e.Events {
			e.events[id] = true
		}
	}
	event, _, _ := strings.Cut(mark, "\n")
	return e.events[event]
}

func (e *Erasure) mark(id string, m *mark) {
	if e.hasEvent(id) {
		m.Sum, m.Others = "", nil // a short text could be guessed from its hash
	}
	for n := range m.Edits {
		if edit := &m.Edits[n]; slices.Contains(e.Events, edit.Event) {
			edit.Title, edit.Why = erasedIf(edit.Title, e.Text), erasedIf(edit.Why, e.Text)
		}
	}
}

func (e *Erasure) failure(fl *failure) {
	if e.Issues[fl.Issue] || e.Issues[fl.Digest] || fl.FirstRun != "" && (fl.FirstRun == e.Run || e.Runs[fl.FirstRun]) {
		fl.Message, fl.Target, fl.Class = erasedIf(fl.Message, e.Text), "", erasedIf(fl.Class, e.Text)
		fl.Type, fl.Role = "", erasedIf(fl.Role, e.Text)
	}
}

func (e *Erasure) followup(id string, u *followup) {
	bundled := u.Issue == "" && u.Digest == ""
	if !bundled && !e.Issues[u.Issue] && !e.Issues[u.Digest] && (e.Run == "" || u.Run != e.Run) {
		return
	}
	u.Title, u.Key, u.Target = e.Text, "", ""
	if e.erased == nil {
		e.erased = make(map[string]bool)
	}
	e.erased[id] = true
}

func (e *Erasure) index(data []byte) (_ []byte, changed bool, err error) {
	left := 0
	data, changed, err = erased(data, func(i *wordIndex) {
		i.Followups = slices.DeleteFunc(i.Followups, func(id string) bool { return e.erased[id] })
		left = len(i.Followups)
	})
	if err == nil && left == 0 {
		return nil, true, nil
	}
	return data, changed, err
}

// lineage gives each role a different name, because a success ends the failures of all roles with
// the same name.
func (e *Erasure) lineage(id string, l *Lineage) {
	if e.Run == "" {
		return
	}
	unit := runLineage(e.Run)
	for n := range l.Roles {
		if r := &l.Roles[n]; id == unit || r.Unit == unit || r.Unit == "" && l.Root == e.Run {
			r.Name, r.Step = e.Text+" "+strconv.Itoa(n), ""
		}
	}
}

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

func erased[T any](data []byte, erase func(*T)) (_ []byte, changed bool, err error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, false, fmt.Errorf("decode %T: %w", v, err)
	}
	erase(&v)
	next, err := json.Marshal(v)
	return next, !bytes.Equal(next, data), err
}
