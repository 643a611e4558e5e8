package agentfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type session struct {
	*Writer
	tenant   *tenant
	src      Source
	failures map[string]error // by file name; these files wait for the next Sync
	updated  map[string]time.Time
}

type work struct {
	state  *fileState
	before int64 // last leaf that the file needs before the items
	behind bool  // the file lacks earlier records
	items  []item
}

func (s *session) run(ctx context.Context) error {
	if err := s.checkFiles(); err != nil {
		return err
	}
	for {
		works, more, err := s.read(ctx)
		if err != nil {
			return err
		}
		for _, w := range works {
			if err := s.write(ctx, w); err != nil {
				return err
			}
		}
		if err := s.tenant.routes.commit(); err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if err := s.readOrders(ctx); err != nil {
		return err
	}
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(s.failures))
	errs := make([]error, 0, len(names))
	for _, name := range names {
		errs = append(errs, fmt.Errorf("%s: %w", name, s.failures[name]))
	}
	return errors.Join(errs...)
}

// After a start, any file could be an old copy that still contains erased runs.
func (s *session) checkFiles() error {
	files, err := s.tenant.routes.files()
	if err != nil {
		return err
	}
	for _, state := range files {
		if s.missing(state.name) {
			state.clear()
			delete(s.tenant.checked, state.name)
		}
		if state.order >= 0 && !s.tenant.checked[state.name] {
			state.cleaned = -1
		}
	}
	return nil
}

func (s *session) read(ctx context.Context) ([]*work, bool, error) {
	var (
		order  []*work
		byFile = map[string]*work{}
		r      = s.tenant.routes
		count  int
		bytes  int
	)
	for entry, err := range s.src.After(ctx, r.pos.leaf) {
		if err != nil {
			return nil, false, fmt.Errorf("read ledger: %w", err)
		}
		if count >= s.opts.ChunkEvents || bytes >= s.opts.ChunkBytes {
			return order, true, nil
		}
		count++
		r.pos = positionOf(entry)
		e, ok := s.decode(ctx, entry)
		if !ok {
			continue
		}
		state, err := r.route(e)
		if err != nil {
			return nil, false, err
		}
		if !isProjected(e) {
			continue
		}
		w, ok := byFile[state.name]
		if !ok {
			w = &work{state: state, before: min(state.done, state.last), behind: state.done < state.last}
			byFile[state.name], order = w, append(order, w)
		}
		bytes += len(entry.Event)
		if err := r.add(state, entry.Leaf, e); err != nil {
			return nil, false, err
		}
		w.items = append(w.items, item{pos: r.pos, event: e})
	}
	return order, false, nil
}

func (s *session) decode(ctx context.Context, entry Entry) (events.Event, bool) {
	if entry.Event == nil {
		return events.Event{}, false
	}
	e, err := events.Decode(entry.Event)
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "agentfs skipped an event", "leaf", entry.Leaf, "error", err)
	}
	return e, err == nil && e.Run != ""
}

func (s *session) write(ctx context.Context, w *work) error {
	if _, failed := s.failures[w.state.name]; failed || w.behind {
		return nil
	}
	return s.update(ctx, w.state, func(f *file) error {
		if f.pos.leaf < w.before {
			return nil // an older copy, which catchUp updates
		}
		for _, item := range w.items {
			if err := f.apply(item); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *session) catchUp(ctx context.Context) error {
	files, err := s.tenant.routes.files()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for _, state := range files {
		if state.isBehind() {
			names = append(names, state.name)
		}
	}
	for _, name := range names {
		if err := s.catchUpFile(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) catchUpFile(ctx context.Context, name string) error {
	for s.failures[name] == nil {
		state, err := s.tenant.routes.file(name)
		if err != nil {
			return err
		}
		if !state.isBehind() {
			return nil
		}
		err = s.update(ctx, state, func(f *file) error {
			if f.pos.leaf >= state.last {
				return nil
			}
			return s.replay(ctx, f, state)
		})
		if err != nil {
			return err
		}
		if err := s.tenant.routes.commit(); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) replay(ctx context.Context, f *file, state *fileState) error {
	var count, bytes int
	for entry, err := range s.src.After(ctx, f.pos.leaf) {
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		if entry.Leaf > state.last {
			break
		}
		if count >= s.opts.ChunkEvents || bytes >= s.opts.ChunkBytes {
			return nil
		}
		e, ok := s.decode(ctx, entry)
		if !ok || !isProjected(e) {
			continue
		}
		name, ok, err := s.tenant.routes.find(e.Run)
		if err != nil {
			return err
		}
		if !ok || name != state.name {
			continue
		}
		count++
		bytes += len(entry.Event)
		if err := f.apply(item{pos: positionOf(entry), event: e}); err != nil {
			return err
		}
	}
	state.last = f.pos.leaf
	return nil
}
