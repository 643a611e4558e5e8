package beads

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
)

// errPartly is a round after which the workspace lacks something.
var errPartly = errors.New("bd did not store all")

// refusal is what bd does not take.
type refusal struct {
	record string
	times  int
}

// sync brings a workspace up to what is wanted. Whatever happens on the way, the
// next sync begins by looking at what was stored.
func (b *BD) sync(ctx context.Context, sp *space) error {
	var partly error
	sp.tried = make(map[string]bool)
	for range 2 { // what is made anew has others linked to it again, and what comes later those before it
		ids, err := b.dirty(ctx, sp)
		if err != nil || len(ids) == 0 {
			return err
		}
		var errs []error
		partly = nil
		for chunk := range slices.Chunk(ids, syncSize) {
			err := b.round(ctx, sp, chunk)
			switch {
			case errors.Is(err, errPartly):
				partly = errors.Join(partly, err)
			case err != nil:
				errs = append(errs, err)
			}
			if errors.Is(err, errHung) || ctx.Err() != nil {
				break
			}
		}
		if len(errs) > 0 {
			return errors.Join(append(errs, partly)...)
		}
	}
	return partly
}

// dirty returns the issues that a workspace does not have all of, but for those
// that it refuses as they are.
func (b *BD) dirty(ctx context.Context, sp *space) (ids []string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.flush(ctx); err != nil {
		return nil, err
	}
	rows, err := b.rows(ctx, sp.tenant, "marks & ? AND NOT marks & ?", int64(markDirty), int64(markGone))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTransient, err)
	}
	for _, r := range rows {
		if f, ok := sp.failed[r.issue.ID]; ok && f.times >= patience && f.record == r.record() {
			continue
		}
		ids = append(ids, r.issue.ID)
	}
	return ids, nil
}

// record returns the line of an issue, without its end.
func (r row) record() string {
	line, err := r.issue.AppendLine(nil)
	if err != nil {
		return ""
	}
	return string(line[:len(line)-1])
}

// round writes some issues: it looks at what is there, writes what is missing and
// looks again. Only the last look says what was stored, not what bd says of the
// writing.
func (b *BD) round(ctx context.Context, sp *space, ids []string) error {
	known, err := b.show(ctx, sp, ids)
	if err != nil {
		return err
	}
	if known, err = b.confirm(ctx, sp, ids, known); err != nil {
		return err
	}
	todo, err := b.meet(ctx, sp, ids, known, true)
	if err != nil || len(todo) == 0 {
		return err
	}
	sp.refused = make(map[string]bool)
	if err := b.write(ctx, sp, todo, known); err != nil {
		return err
	}
	if ids = nil; len(todo) > 0 {
		for _, r := range todo {
			ids = append(ids, r.issue.ID)
		}
	}
	if known, err = b.show(ctx, sp, ids); err != nil {
		return err
	}
	rest, err := b.meet(ctx, sp, ids, known, false)
	if err != nil {
		return err
	}
	return b.judge(ctx, sp, todo, rest)
}

// confirm asks again for issues that were there and are said to be gone.
func (b *BD) confirm(ctx context.Context, sp *space, ids []string, known map[string]shown) (map[string]shown, error) {
	b.mu.Lock()
	rows, err := b.rows(ctx, sp.tenant, "written <> '' AND marks & ?", int64(markDirty))
	b.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTransient, err)
	}
	var lost []string
	for _, r := range rows {
		if _, ok := known[r.issue.ID]; !ok && slices.Contains(ids, r.issue.ID) {
			lost = append(lost, r.issue.ID)
		}
	}
	if len(lost) == 0 {
		return known, nil
	}
	again, err := b.show(ctx, sp, lost)
	if err != nil {
		return nil, err
	}
	if len(again) > 0 {
		return nil, fmt.Errorf("bd show: two answers contradict each other: %w", ErrTransient)
	}
	return known, nil
}

// meet stores what a workspace has of some issues, and returns those that it
// does not have all of. What is to be written is noted first: after a crash it is
// known not to be a person's.
func (b *BD) meet(ctx context.Context, sp *space, ids []string, known map[string]shown, write bool) (todo []row, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.flush(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, id := range ids {
		r, err := b.load(ctx, beadKey{sp.tenant, id})
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	err = b.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, r := range rows {
			next, err := b.meetOne(ctx, conn, sp.tenant, r, known, write)
			if err != nil {
				return err
			}
			if next.marks&markDirty != 0 {
				todo = append(todo, next)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store issues: %w: %w", ErrTransient, err)
	}
	return todo, nil
}

func (b *BD) meetOne(ctx context.Context, conn *sqlite.Conn, tenant string, r row, known map[string]shown, write bool) (row, error) {
	id := r.issue.ID
	var edits []Edit
	theirs, ok := known[id]
	switch {
	case ok:
		edits = r.see(theirs.issue)
	case r.written != "" && r.marks&markErased == 0:
		// A person deleted it, and people win.
		b.logger.WarnContext(ctx, "issue was deleted in its workspace", "issue", id)
		r.marks = r.marks&^markDirty | markGone
	}
	if write && r.marks&markDirty != 0 {
		r.writing = r.record()
	}
	return r, errors.Join(saveRow(conn, beadKey{tenant, id}, r), saveEdits(conn, tenant, edits))
}

// judge says what to think of issues that were written and are not there.
func (b *BD) judge(ctx context.Context, sp *space, todo, rest []row) error {
	left := make(map[string]row, len(rest))
	for _, r := range rest {
		left[r.issue.ID] = r
	}
	var err error
	for _, r := range todo {
		id, record := r.issue.ID, r.record()
		now, ok := left[id]
		if !ok || now.record() != record { // it was written, or changed meanwhile
			delete(sp.failed, id)
			continue
		}
		f := sp.failed[id]
		if f.record != record {
			f = refusal{record: record}
		}
		if sp.refused[id] && !sp.tried[id] {
			f.times++
			sp.tried[id] = true
		}
		sp.failed[id] = f
		if f.times >= patience {
			b.logger.WarnContext(ctx, "bd does not take an issue as it is", "issue", id, "tries", f.times)
			continue
		}
		err = fmt.Errorf("%w of issue %s: %w", errPartly, id, ErrTransient)
	}
	return err
}
