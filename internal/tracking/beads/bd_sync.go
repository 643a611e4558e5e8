package beads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
)

var errIncomplete = errors.New("bd did not store all changes")

type syncer struct {
	tenant string
	table  *table
	reader bdReader
	writer bdWriter
	logger *slog.Logger

	last   time.Time // end of the latest run or attempt
	failed map[string]refusal
	tried  map[string]bool // issues whose refusal counts in this run
}

type refusal struct {
	record string
	times  int
}

func (s *syncer) awaitPace(ctx context.Context, pace time.Duration) error {
	select {
	case <-time.After(time.Until(s.last.Add(pace))):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTransient, ctx.Err())
	}
}

func (s *syncer) run(ctx context.Context) error {
	var partly error
	s.tried = make(map[string]bool)
	// The first pass creates issues, and the second pass links to them.
	for range 2 {
		ids, err := s.dirty(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		var errs []error
		partly = nil
		for chunk := range slices.Chunk(ids, syncSize) {
			err := s.round(ctx, chunk)
			switch {
			case errors.Is(err, errIncomplete):
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

func (s *syncer) dirty(ctx context.Context) (ids []string, err error) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if err := s.table.flush(ctx); err != nil {
		return nil, err
	}
	rows, err := s.table.rows(ctx, s.tenant, "marks & ? AND NOT marks & ?", int64(markDirty), int64(markGone))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTransient, err)
	}
	for _, r := range rows {
		if f, ok := s.failed[r.issue.ID]; ok && f.times >= maxTries && f.record == r.record() {
			continue
		}
		ids = append(ids, r.issue.ID)
	}
	return ids, nil
}

func (r row) record() string {
	record, err := json.Marshal(r.issue)
	if err != nil {
		return ""
	}
	return string(record)
}

func (s *syncer) round(ctx context.Context, ids []string) error {
	known, err := s.reader.show(ctx, ids)
	if err != nil {
		return err
	}
	if err := s.confirmMissing(ctx, ids, known); err != nil {
		return err
	}
	todo, err := s.observe(ctx, ids, known, true)
	if err != nil || len(todo) == 0 {
		return err
	}
	if err := s.writer.write(ctx, todo, known); err != nil {
		return err
	}
	ids = nil
	for _, r := range todo {
		ids = append(ids, r.issue.ID)
	}
	if known, err = s.reader.show(ctx, ids); err != nil {
		return err
	}
	rest, err := s.observe(ctx, ids, known, false)
	if err != nil {
		return err
	}
	return s.countRefusals(ctx, todo, rest)
}

func (s *syncer) confirmMissing(ctx context.Context, ids []string, known map[string]shown) error {
	s.table.mu.Lock()
	rows, err := s.table.rows(ctx, s.tenant, "written <> '' AND marks & ?", int64(markDirty))
	s.table.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTransient, err)
	}
	var lost []string
	for _, r := range rows {
		if _, ok := known[r.issue.ID]; !ok && slices.Contains(ids, r.issue.ID) {
			lost = append(lost, r.issue.ID)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	again, err := s.reader.show(ctx, lost)
	if err != nil {
		return err
	}
	if len(again) > 0 {
		return fmt.Errorf("bd show: two answers contradict each other: %w", ErrTransient)
	}
	return nil
}

func (s *syncer) observe(ctx context.Context, ids []string, known map[string]shown, write bool) (todo []row, err error) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if err := s.table.flush(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, id := range ids {
		r, err := s.table.load(ctx, beadKey{s.tenant, id})
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	if todo, err = s.observeRows(ctx, rows, known, write); err != nil {
		return nil, fmt.Errorf("store issues: %w: %w", ErrTransient, err)
	}
	return todo, nil
}

// The caller must hold table.mu.
func (s *syncer) observeRows(ctx context.Context, rows []row, known map[string]shown, write bool) (todo []row, err error) {
	err = s.table.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, r := range rows {
			next, err := s.observeOne(ctx, conn, r, known, write)
			if err != nil {
				return err
			}
			if next.marks&markDirty != 0 {
				todo = append(todo, next)
			}
		}
		return nil
	})
	return todo, err
}

func (s *syncer) observeOne(ctx context.Context, conn *sqlite.Conn, r row, known map[string]shown, write bool) (row, error) {
	id := r.issue.ID
	var edits []Edit
	theirs, ok := known[id]
	switch {
	case ok:
		edits = r.observe(theirs.issue)
	case r.written != "" && r.marks&markErased == 0:
		s.logger.WarnContext(ctx, "issue deleted in its workspace by a person", "issue", id)
		r.marks = r.marks&^markDirty | markGone
	}
	if write && r.marks&markDirty != 0 {
		r.writing = r.record()
	}
	return r, errors.Join(saveRow(conn, beadKey{s.tenant, id}, r), saveEdits(conn, s.tenant, edits))
}

func (s *syncer) countRefusals(ctx context.Context, todo, rest []row) error {
	left := make(map[string]row, len(rest))
	for _, r := range rest {
		left[r.issue.ID] = r
	}
	var err error
	for _, r := range todo {
		id, record := r.issue.ID, r.record()
		now, ok := left[id]
		if !ok || now.record() != record { // the issue was stored, or has changed since
			delete(s.failed, id)
			continue
		}
		f := s.failed[id]
		if f.record != record {
			f = refusal{record: record}
		}
		if s.writer.refused[id] && !s.tried[id] {
			f.times++
			s.tried[id] = true
		}
		s.failed[id] = f
		if f.times >= maxTries {
			s.logger.WarnContext(ctx, "issue skipped after repeated refusals by bd", "issue", id, "tries", f.times)
			continue
		}
		err = fmt.Errorf("%w of issue %s: %w", errIncomplete, id, ErrTransient)
	}
	return err
}

func (s *syncer) findEdits(ctx context.Context) error {
	all, err := s.reader.export(ctx)
	if err != nil {
		return err
	}
	if err := s.observeChanged(ctx, all); err != nil {
		return fmt.Errorf("store edits: %w: %w", ErrTransient, err)
	}
	return nil
}

func (s *syncer) observeChanged(ctx context.Context, all map[string]shown) error {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if err := s.table.flush(ctx); err != nil {
		return err
	}
	rows, err := s.table.rows(ctx, s.tenant, "")
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		theirs, ok := all[r.issue.ID]
		return !ok || string(theirs.line) == r.written
	})
	todo, err := s.observeRows(ctx, rows, all, false)
	if len(todo) > 0 {
		s.table.stale[s.tenant] = true
	}
	return err
}
