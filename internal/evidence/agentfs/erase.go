package agentfs

import (
	"context"
	"fmt"
	"slices"
)

func (s *session) readOrders(ctx context.Context) error {
	r := s.tenant.routes
	last := r.orders
	for e, err := range s.src.Erased(ctx, r.orders) {
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		if e.Order > r.pos.leaf {
			break // the events of later runs may not be routed yet
		}
		last = e.Order
		name, ok, err := r.find(e.Run)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		state, err := r.file(name)
		if err != nil {
			return err
		}
		if state.last >= 0 {
			state.order = max(state.order, e.Order)
		}
	}
	r.orders = last
	return r.commit()
}

// The last order is saved at the end, so that a crash repeats the erasure.
func (s *session) erase(ctx context.Context, f *file, state *fileState) error {
	runs, err := s.erasedRuns(ctx, f.orders, state)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := s.rebuildRun(ctx, f, run); err != nil {
			return err
		}
	}
	if err := f.commit(); err != nil {
		return err
	}
	if err := f.compact(); err != nil {
		return fmt.Errorf("compact file: %w", err)
	}
	if state.order < 0 {
		return nil
	}
	if err := f.commitOrder(state.order); err != nil {
		return err
	}
	s.opts.Logger.InfoContext(ctx, "agentfs file erased", "file", state.name, "runs", len(runs), "order", state.order)
	return nil
}

func (s *session) erasedRuns(ctx context.Context, after int64, state *fileState) ([]string, error) {
	var runs []string
	for e, err := range s.src.Erased(ctx, after) {
		if err != nil {
			return nil, fmt.Errorf("read orders: %w", err)
		}
		if e.Order > state.order {
			break
		}
		name, ok, err := s.tenant.routes.find(e.Run)
		if err != nil {
			return nil, err
		}
		if ok && name == state.name {
			runs = append(runs, e.Run)
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs), nil
}

func (s *session) rebuildRun(ctx context.Context, f *file, run string) error {
	if err := f.removeRun(run); err != nil {
		return err
	}
	for entry, err := range s.src.Run(ctx, run) {
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		if entry.Leaf > f.pos.leaf {
			break
		}
		e, ok := s.decode(ctx, entry)
		if !ok || !isProjected(e) {
			continue
		}
		if err := f.events.project(entry.Leaf, e); err != nil {
			return err
		}
	}
	return nil
}
