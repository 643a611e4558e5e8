package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
)

// look implements place.
func (b *BD) look(ctx context.Context, tenant string) error {
	return b.inSpace(ctx, tenant, func(sp *space) error {
		all, err := b.exported(ctx, sp)
		if err != nil {
			return err
		}
		if err := b.compare(ctx, tenant, all); err != nil {
			return fmt.Errorf("store edits: %w: %w", ErrTransient, err)
		}
		return nil
	})
}

// compare takes in what is not as it was written.
func (b *BD) compare(ctx context.Context, tenant string, all map[string]shown) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.flush(ctx); err != nil {
		return err
	}
	rows, err := b.rows(ctx, tenant, "")
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		theirs, ok := all[r.issue.ID]
		return !ok || string(theirs.line) == r.written
	})
	return b.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, r := range rows {
			next, err := b.meetOne(ctx, conn, tenant, r, all, false)
			if err != nil {
				return err
			}
			if next.marks&markDirty != 0 {
				b.stale[tenant] = true
			}
		}
		return nil
	})
}

// shown is an issue as the workspace has it.
type shown struct {
	issue Issue
	line  []byte
}

// show returns what a workspace has of some issues, by id. It fails unless the
// answer accounts for each of them: one that is there, or one that bd says is
// not.
func (b *BD) show(ctx context.Context, sp *space, ids []string) (map[string]shown, error) {
	if err := b.checkVersion(ctx, sp.dir); err != nil {
		return nil, err
	}
	a, err := b.call(ctx, sp.dir, b.toShow(ids)...)
	if err != nil {
		return nil, err
	}
	if a.code != 0 {
		if a.says("no issues found matching the provided ids") {
			return nil, nil
		}
		b.forgetVersion() // what it is asked for may be what another one understands
		return nil, fmt.Errorf("bd show ended with %d: %w", a.code, ErrTransient)
	}
	found, others, err := b.take(a, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := found[id]; !ok && !a.accountsFor(id, others) {
			return nil, fmt.Errorf("bd show: answer has nothing about %s: %w", id, ErrTransient)
		}
	}
	return found, nil
}

// take returns what an answer has of some issues, and the ids of others that are in it.
func (b *BD) take(a answer, ids []string) (found map[string]shown, others []string, err error) {
	var list []json.RawMessage
	if err := a.data(&list); err != nil {
		return nil, nil, err
	}
	found = make(map[string]shown, len(list))
	for _, raw := range list {
		s, err := parseShown(raw)
		if err != nil {
			return nil, nil, fmt.Errorf("bd show: %w: %w", ErrTransient, err)
		}
		if onlyCounts(raw, s.issue) {
			b.forgetVersion()
			return nil, nil, fmt.Errorf("bd show: answer counts comments and has none: %w", ErrTransient)
		}
		if !slices.Contains(ids, s.issue.ID) {
			others = append(others, s.issue.ID)
			continue
		}
		found[s.issue.ID] = s
	}
	return found, others, nil
}

// toShow returns the arguments that have bd show all of some issues.
func (b *BD) toShow(ids []string) []string {
	b.spaceMu.Lock()
	defer b.spaceMu.Unlock()
	args := []string{"show", "--json"}
	if !counted.isAfter(b.version) {
		args = append(args, "--include-comments")
	}
	for _, id := range ids {
		args = append(args, "--id="+id)
	}
	return args
}

// onlyCounts reports whether an answer tells of comments that it does not have. Taken
// for an issue without any, they would be written again.
func onlyCounts(raw []byte, i Issue) bool {
	var told struct {
		Comments int `json:"comment_count"`
	}
	return len(i.Comments) == 0 && json.Unmarshal(raw, &told) == nil && told.Comments > 0
}

// accountsFor reports whether an answer that does not have an issue says so: in
// words, or by other issues in its place, as ids match by a part of them.
func (a answer) accountsFor(id string, others []string) bool {
	_, digits, _ := strings.Cut(id, "-")
	return a.denies(id) || slices.ContainsFunc(others, func(o string) bool { return strings.Contains(o, digits) })
}

// denies reports whether bd said that there is no issue with this id. That it is
// ambiguous says so too: only what does not exist is looked for by a part of it.
func (a answer) denies(id string) bool {
	ambiguous := fmt.Appendf(nil, "ambiguous ID %q", id)
	for text := range bytes.Lines(a.stderr) {
		if bytes.Contains(text, ambiguous) {
			return true
		}
		if bytes.Contains(text, []byte(id)) && (bytes.Contains(text, []byte("no issue found")) || bytes.Contains(text, []byte("not found"))) {
			return true
		}
	}
	return false
}

// parseShown returns the issue of an answer. There it has what is computed too,
// and instead of its dependencies the issues that it depends on.
func parseShown(raw []byte) (shown, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return shown{}, fmt.Errorf("decode issue: %w", err)
	}
	for _, computed := range []string{
		"_type", "dependents", "dependency_count", "dependent_count", "comment_count", "parent",
		"epic_total_children", "epic_closed_children", "epic_closeable",
	} {
		delete(fields, computed)
	}
	var dependencies []map[string]json.RawMessage
	if text, ok := fields["dependencies"]; ok {
		if err := json.Unmarshal(text, &dependencies); err != nil {
			return shown{}, fmt.Errorf("decode dependencies: %w", err)
		}
	}
	for n, d := range dependencies {
		if _, ok := d["dependency_type"]; ok {
			dependencies[n] = map[string]json.RawMessage{
				"issue_id": fields["id"], "depends_on_id": d["id"], "type": d["dependency_type"], "created_at": d["created_at"],
			}
		}
		// Neither belongs to what depends on what.
		delete(dependencies[n], "metadata")
		delete(dependencies[n], "thread_id")
	}
	if dependencies != nil {
		text, err := json.Marshal(dependencies)
		if err != nil {
			return shown{}, err
		}
		fields["dependencies"] = text
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return shown{}, err
	}
	issue, err := ParseLine(text)
	if err != nil {
		return shown{}, err
	}
	line, err := issue.AppendLine(nil)
	return shown{issue, bytes.TrimSuffix(line, []byte{'\n'})}, err
}

// exported returns all issues of a workspace, by id.
func (b *BD) exported(ctx context.Context, sp *space) (map[string]shown, error) {
	a, err := b.call(ctx, sp.dir, "export")
	if err != nil {
		return nil, err
	}
	if a.code != 0 {
		return nil, fmt.Errorf("bd export ended with %d: %w", a.code, ErrTransient)
	}
	all := make(map[string]shown)
	for text := range bytes.Lines(a.stdout) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		id, err := lineID(text)
		if err == nil && id == "" {
			continue // a memory
		}
		s, err := parseShown(text)
		if err != nil {
			return nil, fmt.Errorf("bd export: answer is cut off or none of Beads: %w", ErrTransient)
		}
		all[s.issue.ID] = s
	}
	return all, nil
}

// see takes in what a workspace has of an issue, and returns people's edits in it.
func (r *row) see(theirs Issue) (edits []Edit) {
	r.marks &^= markGone
	erased := r.marks&markErased != 0
	if !erased {
		if r.written == "" && r.writing == "" {
			r.inherit(theirs)
		}
		edits = r.merge(theirs, theirs.UpdatedAt)
	}
	whole := !r.lacks(theirs).any()
	if whole {
		r.marks &^= markDirty | markErased
		r.writing = ""
	} else {
		r.marks |= markDirty
	}
	if line, err := theirs.AppendLine(nil); err == nil && (whole || !erased) {
		r.written = string(bytes.TrimSuffix(line, []byte{'\n'}))
	}
	return edits
}

// inherit takes over an issue that the workspace had before this tracker knew
// of it: from an earlier life, say, that was rebuilt. What is newer there stays.
func (r *row) inherit(theirs Issue) {
	ours := &r.issue
	ours.Title, ours.Description, ours.Notes = theirs.Title, theirs.Description, theirs.Notes
	ours.Priority, ours.Type, ours.Assignee = theirs.Priority, theirs.Type, theirs.Assignee
	if !theirs.UpdatedAt.Before(ours.UpdatedAt) {
		ours.Status, ours.UpdatedAt, ours.ClosedAt, ours.CloseReason = theirs.Status, theirs.UpdatedAt, theirs.ClosedAt, theirs.CloseReason
	}
}
