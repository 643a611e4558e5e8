package agentfs

import (
	"context"
	"errors"
	"time"
)

func (s *session) update(ctx context.Context, state *fileState, change func(*file) error) error {
	if err := s.pause(ctx, state.name); err != nil {
		return err
	}
	err := s.commit(ctx, state, change)
	s.updated[state.name] = time.Now()
	if err != nil {
		s.failures[state.name] = err
		return ctx.Err()
	}
	state.listed, state.rebuild = state.parts, false
	return nil
}

func (s *session) commit(ctx context.Context, state *fileState, change func(*file) error) (err error) {
	f, err := openFile(ctx, s.path(state.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := s.check(ctx, f, state); err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	if err := listParts(f, state); err != nil {
		return err
	}
	if f.freed || f.orders < state.order {
		err = s.erase(ctx, f, state)
	} else {
		err = f.commit()
	}
	if err != nil {
		return err
	}
	s.tenant.checked[state.name] = true
	state.done, state.cleaned = f.pos.leaf, f.orders
	return nil
}

func (s *session) check(ctx context.Context, f *file, state *fileState) error {
	if state.rebuild {
		return f.reset()
	}
	if s.tenant.checked[state.name] {
		return nil
	}
	ok, err := contains(ctx, s.src, f.pos)
	if err != nil || ok {
		return err
	}
	s.opts.Logger.WarnContext(ctx, "agentfs file of another ledger reset", "file", state.name)
	return f.reset()
}

func (s *session) pause(ctx context.Context, name string) error {
	updated, ok := s.updated[name]
	if !ok {
		return ctx.Err()
	}
	timer := time.NewTimer(s.opts.Interval - time.Since(updated))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
