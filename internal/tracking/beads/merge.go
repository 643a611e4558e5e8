package beads

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tombstone is the status that older versions of Beads left in the place of a
// deleted issue.
const tombstone Status = "tombstone"

func (i Issue) isClosed() bool { return i.Status == Closed || i.Status == tombstone }

// merge brings what others made of an issue into r. theirs is the issue as the
// workspace has it now, at a time that counts if it has none of its own. What
// differs from what was written there, and from what was on its way, is a
// person's: it stays, whatever the tracker wants, and the edits among it are
// returned.
func (r *row) merge(theirs Issue, at time.Time) []Edit {
	bases := r.known()
	if len(bases) == 0 { // nothing is known to have been written there
		r.adopt(theirs)
		return nil
	}
	if !theirs.UpdatedAt.Equal(bases[0].UpdatedAt) && !theirs.UpdatedAt.IsZero() {
		at = theirs.UpdatedAt
	}
	if now := time.Now().UTC(); at.After(now) {
		at = now // nobody has changed anything in the future, and what is older than the latest change is not done
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

// known returns the issue as it was written to the workspace, and as it was on
// its way there.
func (r *row) known() (list []Issue) {
	for _, line := range []string{r.written, r.writing} {
		if i, err := ParseLine([]byte(line)); err == nil {
			list = append(list, i)
		}
	}
	return list
}

// mergeTexts brings in the title, the description and the name that they gave.
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

// mergeStatus brings in where they moved the issue.
func (r *row) mergeStatus(base, theirs Issue, at time.Time, changed func(func(Issue) string) bool) []Edit {
	ours := r.issue
	moved := changed(func(i Issue) string { return string(i.Status) })
	refused := theirs.notPlanned() && !base.notPlanned() && !ours.notPlanned()
	if !moved && !refused {
		return nil
	}
	r.issue.follow(theirs, at)
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

// follow gives i the status of theirs, which it got at a time.
func (i *Issue) follow(theirs Issue, at time.Time) {
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

// notPlanned reports whether the issue was closed because nobody will do it.
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

// mergeRest brings in what is nobody's event.
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
	for name := range union(theirs.Extra, bases[0].Extra) {
		if changed(func(i Issue) string { return string(i.Extra[name]) }) {
			ours.setExtra(name, theirs.Extra[name])
		}
	}
	if r.written == "" { // what was on its way may not have got there: bd leaves out links to what does not exist
		bases = append([]Issue{{}}, bases...)
	}
	key := func(s string) string { return s }
	ours.Labels = slices.Sorted(slices.Values(mergeList(lists(bases, func(i Issue) []string { return i.Labels }), theirs.Labels, ours.Labels, key)))
	ours.Dependencies = mergeList(lists(bases, func(i Issue) []Dependency { return i.Dependencies }),
		theirs.Dependencies, ours.Dependencies, Dependency.key)
	sortDependencies(ours.Dependencies)
	ours.Comments = mergeList(lists(bases, func(i Issue) []Comment { return i.Comments }),
		theirs.Comments, ours.Comments, Comment.key)
}

// key is what makes two links one.
func (d Dependency) key() string { return d.DependsOn + "\x00" + d.Type }

// key is what makes two comments one: bd has its own ids and times of them.
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

func union(a, b Extra) map[string]bool {
	names := make(map[string]bool, len(a)+len(b))
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	return names
}

func lists[T any](bases []Issue, of func(Issue) []T) (all [][]T) {
	for _, b := range bases {
		all = append(all, of(b))
	}
	return all
}

// mergeList returns ours with what they added, and without what they removed.
// Of several equal elements each counts for itself.
func mergeList[T any](bases [][]T, theirs, ours []T, key func(T) string) []T {
	was, all, has, want := make(map[string]int), make(map[string]int), count(theirs, key), count(ours, key)
	for n, b := range bases {
		for k, v := range count(b, key) {
			all[k] = max(all[k], v)
			if n == 0 {
				was[k] = v
			}
		}
	}
	out := slices.DeleteFunc(slices.Clone(ours), func(v T) bool {
		k := key(v)
		if removed := was[k] - has[k]; removed > 0 && want[k] > has[k] {
			want[k]--
			was[k]--
			return true
		}
		return false
	})
	for _, v := range theirs {
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

// adopt takes from an issue that the workspace had before anything is known to
// have been written there what the tracker has no opinion of. Texts are not
// among it: they may be those of an erased run.
func (r *row) adopt(theirs Issue) {
	if r.marks&markErased != 0 {
		return
	}
	ours := &r.issue
	if ours.Assignee == "" {
		ours.Assignee = theirs.Assignee
	}
	if ours.Owner == "" {
		ours.Owner = theirs.Owner
	}
	for name, value := range theirs.Extra {
		if _, ok := ours.Extra[name]; !ok {
			ours.setExtra(name, value)
		}
	}
}

// identity returns the id of an edit: what was done to what, when.
func (e Edit) identity() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		e.Issue, string(e.Action), e.At.UTC().Format(time.RFC3339Nano), strconv.Itoa(len(e.Value)), e.Value,
	}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
