package issues

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	switch {
	case k.Kind == IssueKind && e.Issues[k.ID]:
		return erased(data, func(i *Issue) {
			i.Title, i.Description = e.Text, ""
			if i.Reason != "" {
				i.Reason = e.Text
			}
		})
	case k.Kind == runs.kind && ofRun:
		return erased(data, func(r *Run) { r.Type, r.Roles, r.Bundled = "", nil, nil })
	case k.Kind == steps.kind && ofRun:
		return nil, true, nil
	}
	return data, false, nil
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
