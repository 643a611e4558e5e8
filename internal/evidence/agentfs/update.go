package agentfs

import (
	"context"
	"errors"
	"time"
)

// visit opens a file, has change applied to it, and commits it. What goes wrong
// with the file is kept in failures; the error is for what stops the whole call.
func (s *session) visit(ctx context.Context, v *volume, change func(*file) error) error {
	if err := s.pause(ctx, v.name); err != nil {
		return err
	}
	err := s.commit(ctx, v, change)
	s.visited[v.name] = time.Now()
	if err != nil {
		s.failures[v.name] = err
		return ctx.Err()
	}
	v.told, v.anew = v.parts, false
	return nil
}

func (s *session) commit(ctx context.Context, v *volume, change func(*file) error) (err error) {
	f, err := openFile(ctx, s.path(v.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := s.check(ctx, f, v); err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	if err := f.tell(v); err != nil {
		return err
	}
	if f.emptied || f.orders < v.order {
		err = s.obey(ctx, f, v)
	} else {
		err = f.commit()
	}
	if err != nil {
		return err
	}
	s.tenant.checked[v.name] = true
	v.done, v.cleaned = f.pos.leaf, f.orders
	return nil
}

// check empties a file that is to be written anew, or is that of another ledger.
func (s *session) check(ctx context.Context, f *file, v *volume) error {
	if v.anew {
		return f.reset()
	}
	if s.tenant.checked[v.name] {
		return nil
	}
	ok, err := holds(ctx, s.src, f.pos)
	if err != nil || ok {
		return err
	}
	s.opts.Logger.WarnContext(ctx, "agentfs file of another ledger written anew", "file", v.name)
	return f.reset()
}

// pause waits until a file that this call already wrote may be opened again.
func (s *session) pause(ctx context.Context, name string) error {
	visited, ok := s.visited[name]
	if !ok {
		return ctx.Err()
	}
	timer := time.NewTimer(s.opts.Interval - time.Since(visited))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
