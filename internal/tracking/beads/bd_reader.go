package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type bdReader struct {
	dir     string
	runner  *runner
	version *versionCheck
}

type shown struct {
	issue Issue
	line  []byte // the issue as JSON
}

func (r *bdReader) show(ctx context.Context, ids []string) (map[string]shown, error) {
	if err := r.version.check(ctx, r.dir); err != nil {
		return nil, err
	}
	args := []string{"show", "--json"}
	if r.version.needsCommentFlag() {
		args = append(args, "--include-comments")
	}
	for _, id := range ids {
		args = append(args, "--id="+id)
	}
	a, err := r.runner.call(ctx, r.dir, args...)
	if err != nil {
		return nil, err
	}
	if a.code != 0 {
		if a.says("no issues found matching the provided ids") {
			return nil, nil
		}
		r.version.forget() // bd may have been replaced by a version with other flags
		return nil, fmt.Errorf("bd show failed with exit status %d: %w", a.code, ErrTransient)
	}
	found, others, err := r.parse(a, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := found[id]; !ok && !a.mentions(id, others) {
			return nil, fmt.Errorf("bd show: answer does not mention %s: %w", id, ErrTransient)
		}
	}
	return found, nil
}

func (r *bdReader) parse(a answer, ids []string) (found map[string]shown, others []string, err error) {
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
			r.version.forget()
			return nil, nil, fmt.Errorf("bd show: answer counts comments but contains none: %w", ErrTransient)
		}
		if !slices.Contains(ids, s.issue.ID) {
			others = append(others, s.issue.ID)
			continue
		}
		found[s.issue.ID] = s
	}
	return found, others, nil
}

// onlyCounts reports whether bd answered with the number of comments instead of the comments.
// Without this check, all comments would be written a second time.
func onlyCounts(raw []byte, i Issue) bool {
	var count struct {
		Comments int `json:"comment_count"`
	}
	return len(i.Comments) == 0 && json.Unmarshal(raw, &count) == nil && count.Comments > 0
}

func (a answer) mentions(id string, others []string) bool {
	_, digits, _ := strings.Cut(id, "-")
	return a.denies(id) || slices.ContainsFunc(others, func(o string) bool { return strings.Contains(o, digits) })
}

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
	line, err := json.Marshal(issue)
	return shown{issue, line}, err
}

func (r *bdReader) export(ctx context.Context) (map[string]shown, error) {
	a, err := r.runner.call(ctx, r.dir, "export")
	if err != nil {
		return nil, err
	}
	if a.code != 0 {
		return nil, fmt.Errorf("bd export failed with exit status %d: %w", a.code, ErrTransient)
	}
	all := make(map[string]shown)
	for text := range bytes.Lines(a.stdout) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		id, err := lineID(text)
		if err == nil && id == "" {
			continue // a memory entry of Beads
		}
		s, err := parseShown(text)
		if err != nil {
			return nil, fmt.Errorf("bd export: answer is truncated or not from Beads: %w", ErrTransient)
		}
		all[s.issue.ID] = s
	}
	return all, nil
}

func (r *row) observe(theirs Issue) (edits []Edit) {
	r.marks &^= markGone
	erased := r.marks&markErased != 0
	if !erased {
		if r.written == "" && r.writing == "" {
			r.inherit(theirs)
		}
		edits = r.merge(theirs, theirs.UpdatedAt)
	}
	complete := !r.lacks(theirs).any()
	if complete {
		r.marks &^= markDirty | markErased
		r.writing = ""
	} else {
		r.marks |= markDirty
	}
	if line, err := json.Marshal(theirs); err == nil && (complete || !erased) {
		r.written = string(line)
	}
	return edits
}

func (r *row) inherit(theirs Issue) {
	ours := &r.issue
	ours.Title, ours.Description, ours.Notes = theirs.Title, theirs.Description, theirs.Notes
	ours.Priority, ours.Type, ours.Assignee = theirs.Priority, theirs.Type, theirs.Assignee
	if !theirs.UpdatedAt.Before(ours.UpdatedAt) {
		ours.Status, ours.UpdatedAt, ours.ClosedAt, ours.CloseReason = theirs.Status, theirs.UpdatedAt, theirs.ClosedAt, theirs.CloseReason
	}
}
