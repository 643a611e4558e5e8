package issues

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Erasure takes the texts of some events out of a tenant's records, wherever the
// heuristics keep them. Ids, times and statuses stay.
type Erasure struct {
	Run    string          // all of this run goes, the names in it too; empty: of no run
	Events []string        // ids of events that go
	Issues map[string]bool // issues that lose all their texts
	Text   string          // what stands in the place of texts
}

// Record returns a record without the texts that go, nil if nothing is left of
// it, and whether it changed.
func (e Erasure) Record(k Key, data []byte) (_ []byte, changed bool, err error) {
	ofRun := e.Run != "" && (k.ID == e.Run || strings.HasPrefix(k.ID, e.Run+"\n"))
	switch k.Kind {
	case IssueKind:
		return erased(data, e.issue)
	case runs.kind:
		if ofRun {
			return erased(data, eraseRun)
		}
	case steps.kind:
		if ofRun {
			return nil, true, nil
		}
	case failures.kind:
		return erased(data, e.failure)
	case followups.kind:
		return erased(data, e.followup)
	case entries.kind:
		return erased(data, e.entry)
	case helds.kind:
		return erased(data, e.held)
	}
	return data, false, nil
}

func (e Erasure) issue(i *Issue) {
	if e.Issues[i.ID] {
		i.Title, i.Description, i.Reason = e.Text, "", erasedIf(i.Reason, e.Text)
	}
}

func eraseRun(r *Run) { r.Type, r.WorkItem, r.Target, r.Roles, r.Bundled = "", "", "", nil, nil }

func (e Erasure) held(h *held) {
	if e.Run != "" && h.Run == e.Run || slices.Contains(e.Events, h.Event) {
		h.Name, h.Left = e.Text, nil
	}
}

// failure takes the message out of a failure that was met in what goes.
func (e Erasure) failure(fl *failure) {
	if e.Issues[fl.Issue] || e.Issues[fl.Digest] || e.Run != "" && fl.FirstRun == e.Run {
		fl.Message, fl.Target = erasedIf(fl.Message, e.Text), ""
	}
}

func (e Erasure) followup(u *followup) {
	if e.Issues[u.Issue] || e.Issues[u.Digest] || e.Run != "" && u.Run == e.Run {
		u.Title = e.Text
	}
}

// entry takes the title out of an entry of a digest that loses its texts, or of
// what only the run that goes had.
func (e Erasure) entry(en *entry) {
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
