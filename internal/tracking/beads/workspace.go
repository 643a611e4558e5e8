package beads

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

type workspace struct {
	table  *table
	place  place
	tenant string
	// lookBeforeErase makes Erase first read people's edits, because the next export would
	// overwrite them.
	lookBeforeErase bool
}

func (w *workspace) change(ctx context.Context, id string, do func(*row) (changed bool, err error)) error {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	key := beadKey{w.tenant, id}
	r, err := w.table.load(ctx, key)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return err
	}
	// Copy these slices before a change, because rows in pending may share them.
	r.issue.Dependencies, r.issue.Comments = slices.Clone(r.issue.Dependencies), slices.Clone(r.issue.Comments)
	changed, err := do(&r)
	if err != nil || !changed {
		return err
	}
	r.marks |= markDirty
	w.table.pending[key] = r
	return nil
}

// Ensure implements [Writer].
func (w *workspace) Ensure(ctx context.Context, issue Issue) error {
	issue = issue.fit()
	if err := issue.Validate(); err != nil {
		return err
	}
	for _, label := range issue.Labels {
		if err := checkLabel(label); err != nil {
			return fmt.Errorf("issue %s: %w", issue.ID, err)
		}
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	key := beadKey{w.tenant, issue.ID}
	_, err := w.table.load(ctx, key)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	issue.Labels = slices.Sorted(slices.Values(issue.Labels))
	w.table.pending[key] = row{issue: issue, marks: markDirty}
	return nil
}

// Transition implements [Writer].
func (w *workspace) Transition(ctx context.Context, t Transition) error {
	if err := t.To.validate(t.Issue); err != nil {
		return err
	}
	return w.change(ctx, t.Issue, func(r *row) (bool, error) {
		i := &r.issue
		switch {
		case t.At.Before(i.UpdatedAt), t.To == i.Status && t.At.Equal(i.UpdatedAt):
			return false, nil
		case i.isClosed() && t.To != Closed && !t.Reopen:
			if t.At.Equal(i.UpdatedAt) {
				return false, nil // a repeated transition, and the issue was closed later
			}
			return false, fmt.Errorf("issue %s is closed and cannot become %s: %w", i.ID, t.To, ErrConflict)
		}
		i.Status, i.UpdatedAt = t.To, t.At
		i.ClosedAt, i.CloseReason = time.Time{}, ""
		if t.To == Closed {
			i.ClosedAt, i.CloseReason = t.At, reason(t.Reason)
		}
		return true, nil
	})
}

// Link implements [Writer].
func (w *workspace) Link(ctx context.Context, d Dependency) error {
	return w.change(ctx, d.Issue, func(r *row) (bool, error) {
		same := func(o Dependency) bool { return o.DependsOn == d.DependsOn && o.Type == d.Type }
		if slices.ContainsFunc(r.issue.Dependencies, same) {
			return false, nil
		}
		r.issue.Dependencies = append(r.issue.Dependencies, d)
		sortDependencies(r.issue.Dependencies)
		return true, nil
	})
}

func sortDependencies(list []Dependency) {
	slices.SortStableFunc(list, func(a, b Dependency) int {
		return slices.Compare([]string{a.DependsOn, a.Type}, []string{b.DependsOn, b.Type})
	})
}

// Note implements [Writer].
func (w *workspace) Note(ctx context.Context, c Comment) error {
	c.Text = passage(c.Text)
	return w.change(ctx, c.Issue, func(r *row) (bool, error) {
		same := func(o Comment) bool { return o.Text == c.Text && o.CreatedAt.Equal(c.CreatedAt) }
		if slices.ContainsFunc(r.issue.Comments, same) {
			return false, nil
		}
		c.ID = c.number(len(r.issue.Comments))
		r.issue.Comments = append(r.issue.Comments, c)
		return true, nil
	})
}

// number returns the id of a comment. The id is a number, because all versions of Beads can read
// numbers.
func (c Comment) number(others int) json.RawMessage {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", c.Issue, c.CreatedAt.UnixNano(), others))
	return strconv.AppendUint(nil, binary.BigEndian.Uint64(sum[:])>>12, 10) // 52 bits, which JSON readers represent exactly
}

// Label implements [Annotator]. It does not change the update time of the issue, because a later
// status change would then be ignored if its time is earlier.
func (w *workspace) Label(ctx context.Context, id, label string, _ time.Time) error {
	if err := checkLabel(label); err != nil {
		return fmt.Errorf("issue %s: %w", id, err)
	}
	return w.change(ctx, id, func(r *row) (bool, error) {
		if slices.Contains(r.issue.Labels, label) {
			return false, nil
		}
		r.issue.Labels = slices.Sorted(slices.Values(append(slices.Clone(r.issue.Labels), label)))
		return true, nil
	})
}

// Describe implements [Annotator].
func (w *workspace) Describe(ctx context.Context, id, text string, _ time.Time) error {
	text = passage(text)
	return w.change(ctx, id, func(r *row) (bool, error) {
		if r.issue.Description == text || r.marks&markDescribed != 0 {
			return false, nil
		}
		r.issue.Description = text
		return true, nil
	})
}

// Erase implements [Annotator].
func (w *workspace) Erase(ctx context.Context, id, text string) error {
	if w.lookBeforeErase {
		if err := w.place.look(ctx, w.tenant); err != nil && !errors.Is(err, ErrInvalid) {
			return err
		}
	}
	err := w.change(ctx, id, func(r *row) (bool, error) {
		i := &r.issue
		i.Title, i.Description, i.Notes, i.Extra = text, "", "", nil
		if i.CloseReason != "" {
			i.CloseReason = text
		}
		for n := range i.Comments {
			i.Comments[n].Text, i.Comments[n].Extra = text, nil
		}
		// Forget the texts that were written before. Otherwise, merge would take the old texts in
		// the workspace for edits by people.
		r.written, r.writing = "", ""
		r.marks = r.marks&^markDescribed | markErased
		return true, w.table.eraseEdits(ctx, w.tenant, id, text)
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Get implements [Reader].
func (w *workspace) Get(ctx context.Context, id string) (Issue, error) {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	r, err := w.table.load(ctx, beadKey{w.tenant, id})
	return r.issue, err
}

// Probe implements [Reader].
func (w *workspace) Probe(ctx context.Context) error {
	if strings.ContainsRune(w.tenant, 0) {
		return fmt.Errorf("tenant with a zero byte: %w", ErrInvalid)
	}
	if err := w.table.db.Tx(ctx, func(*sqlite.Conn) error { return nil }); err != nil {
		return fmt.Errorf("probe issues: %w: %w", ErrUnavailable, err)
	}
	return w.place.probe(ctx, w.tenant)
}
