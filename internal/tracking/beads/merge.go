package beads

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tombstone is the status of deleted issues in older versions of Beads.
const tombstone Status = "tombstone"

func (i Issue) isClosed() bool { return i.Status == Closed || i.Status == tombstone }

// merge treats a value in the workspace that the tracker has never written as an edit by a person.
func (r *row) merge(theirs Issue, at time.Time) []Edit {
	bases := r.bases()
	if len(bases) == 0 {
		r.adopt(theirs)
		return nil
	}
	if !theirs.UpdatedAt.Equal(bases[0].UpdatedAt) && !theirs.UpdatedAt.IsZero() {
		at = theirs.UpdatedAt
	}
	if now := time.Now().UTC(); at.After(now) {
		at = now // with a future time, the edit would outrank all changes by the tracker until then
	}
	changed := func(field func(Issue) string) bool {
		return !slices.ContainsFunc(bases, func(b Issue) bool { return field(b) == field(theirs) })
	}
	edits := r.mergeStatus(bases[0], theirs, at, changed)
	edits = append(edits, r.mergeTexts(theirs, changed)...)
	r.mergeRest(bases, theirs, changed)
	for n := range edits {
		edits[n].Issue, edits[n].At = r.issue.ID, at
		edits[n].ID = edits[n].identity()
	}
	return edits
}

func (r *row) bases() (list []Issue) {
	for _, line := range []string{r.written, r.writing} {
		if i, err := ParseLine([]byte(line)); err == nil {
			list = append(list, i)
		}
	}
	return list
}

func (r *row) mergeTexts(theirs Issue, changed func(func(Issue) string) bool) (edits []Edit) {
	ours := &r.issue
	if changed(func(i Issue) string { return i.Title }) && theirs.Title != "" && theirs.Title != ours.Title {
		ours.Title = theirs.Title
		edits = append(edits, Edit{Action: ActionRetitled, Value: theirs.Title})
	}
	if changed(func(i Issue) string { return i.Assignee }) && theirs.Assignee != ours.Assignee {
		ours.Assignee = theirs.Assignee
		edits = append(edits, Edit{Action: ActionAssigned, Value: theirs.Assignee})
	}
	if changed(func(i Issue) string { return i.Description }) && theirs.Description != ours.Description {
		ours.Description = theirs.Description
		r.marks |= markDescribed
	}
	return edits
}

func (r *row) mergeStatus(base, theirs Issue, at time.Time, changed func(func(Issue) string) bool) []Edit {
	ours := r.issue
	moved := changed(func(i Issue) string { return string(i.Status) })
	refused := theirs.notPlanned() && !base.notPlanned() && !ours.notPlanned()
	if !moved && !refused {
		return nil
	}
	r.issue.copyStatus(theirs, at)
	switch {
	case refused:
		return []Edit{{Action: ActionNotPlanned}}
	case theirs.Status == ours.Status, theirs.isClosed() == base.isClosed():
		return nil
	case theirs.isClosed():
		return []Edit{{Action: ActionClosed}}
	}
	return []Edit{{Action: ActionReopened}}
}

func (i *Issue) copyStatus(theirs Issue, at time.Time) {
	i.Status = theirs.Status
	if at.After(i.UpdatedAt) {
		i.UpdatedAt = at
	}
	i.ClosedAt, i.CloseReason = time.Time{}, ""
	if !theirs.isClosed() {
		return
	}
	i.ClosedAt, i.CloseReason = theirs.ClosedAt, theirs.CloseReason
	if i.ClosedAt.IsZero() {
		i.ClosedAt = at
	}
}

func (i Issue) notPlanned() bool {
	if i.Status == tombstone {
		return true
	}
	if i.Status != Closed {
		return false
	}
	text := strings.NewReplacer("-", " ", "_", " ", "'", "", "’", "").Replace(strings.ToLower(
		i.CloseReason + "\n" + strings.Join(i.Labels, "\n")))
	return slices.ContainsFunc([]string{"not planned", "wontfix", "wont fix", "wont do"}, func(s string) bool {
		return strings.Contains(text, s)
	})
}

func (r *row) mergeRest(bases []Issue, theirs Issue, changed func(func(Issue) string) bool) {
	ours := &r.issue
	if changed(func(i Issue) string { return i.Notes }) {
		ours.Notes = theirs.Notes
	}
	if changed(func(i Issue) string { return i.Owner }) {
		ours.Owner = theirs.Owner
	}
	if changed(func(i Issue) string { return i.Type }) && theirs.Type != "" {
		ours.Type = theirs.Type
	}
	if changed(func(i Issue) string { return strconv.Itoa(i.Priority) }) {
		ours.Priority = theirs.Priority
	}
	names := make(Extra)
	maps.Copy(names, theirs.Extra)
	maps.Copy(names, bases[0].Extra)
	for name := range names {
		if changed(func(i Issue) string { return string(i.Extra[name]) }) {
			ours.setExtra(name, theirs.Extra[name])
		}
	}
	if r.written == "" { // bd may have stored only some of the links
		bases = append([]Issue{{}}, bases...)
	}
	labels := mergeList(bases, theirs, *ours, func(i Issue) []string { return i.Labels }, func(s string) string { return s })
	ours.Labels = slices.Sorted(slices.Values(labels))
	ours.Dependencies = mergeList(bases, theirs, *ours, func(i Issue) []Dependency { return i.Dependencies }, Dependency.key)
	sortDependencies(ours.Dependencies)
	ours.Comments = mergeList(bases, theirs, *ours, func(i Issue) []Comment { return i.Comments }, Comment.key)
}

func (d Dependency) key() string { return d.DependsOn + "\x00" + d.Type }

// key identifies a comment by author and text, because bd assigns new ids and times to comments.
func (c Comment) key() string { return c.Author + "\x00" + c.Text }

func (i *Issue) setExtra(name string, value json.RawMessage) {
	extra := maps.Clone(i.Extra)
	delete(extra, name)
	if value != nil {
		if extra == nil {
			extra = make(Extra)
		}
		extra[name] = bytes.Clone(value)
	}
	i.Extra = extra
}

func mergeList[T any](bases []Issue, theirs, ours Issue, list func(Issue) []T, key func(T) string) []T {
	was, all := make(map[string]int), make(map[string]int)
	has, want := count(list(theirs), key), count(list(ours), key)
	for n, b := range bases {
		for k, v := range count(list(b), key) {
			all[k] = max(all[k], v)
			if n == 0 {
				was[k] = v
			}
		}
	}
	out := slices.DeleteFunc(slices.Clone(list(ours)), func(v T) bool {
		k := key(v)
		if removed := was[k] - has[k]; removed > 0 && want[k] > has[k] {
			want[k]--
			was[k]--
			return true
		}
		return false
	})
	for _, v := range list(theirs) {
		if k := key(v); has[k] > all[k] && has[k] > want[k] {
			want[k]++
			out = append(out, v)
		}
	}
	return out
}

func count[T any](list []T, key func(T) string) map[string]int {
	n := make(map[string]int)
	for _, v := range list {
		n[key(v)]++
	}
	return n
}

// adopt copies no texts from the workspace, because they may belong to an erased run.
func (r *row) adopt(theirs Issue) {
	if r.marks&markErased != 0 {
		return
	}
	ours := &r.issue
	ours.Assignee = cmp.Or(ours.Assignee, theirs.Assignee)
	ours.Owner = cmp.Or(ours.Owner, theirs.Owner)
	for name, value := range theirs.Extra {
		if _, ok := ours.Extra[name]; !ok {
			ours.setExtra(name, value)
		}
	}
}

func (e Edit) identity() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		e.Issue, string(e.Action), e.At.UTC().Format(time.RFC3339Nano), strconv.Itoa(len(e.Value)), e.Value,
	}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
