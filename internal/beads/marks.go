package beads

import (
	"context"
	"slices"
	"time"
)

// Label implements [Marker].
func (w *workspace) Label(ctx context.Context, id, label string, at time.Time) error {
	return w.change(ctx, id, func(i *Issue) (bool, error) {
		if slices.Contains(i.Labels, label) {
			return false, nil
		}
		i.Labels = slices.Sorted(slices.Values(append(slices.Clone(i.Labels), label)))
		i.touch(at)
		return true, nil
	})
}

// Describe implements [Marker].
func (w *workspace) Describe(ctx context.Context, id, text string, at time.Time) error {
	return w.change(ctx, id, func(i *Issue) (bool, error) {
		if i.Description == text {
			return false, nil
		}
		i.Description = text
		i.touch(at)
		return true, nil
	})
}

// Edits implements [Watcher].
func (w *workspace) Edits(context.Context) ([]Edit, error) { return nil, nil }

// Taken implements [Watcher].
func (w *workspace) Taken(context.Context, []Edit) error { return nil }

// touch notes that something changed that has no order of its own.
func (i *Issue) touch(at time.Time) {
	if at.After(i.UpdatedAt) {
		i.UpdatedAt = at
	}
}
