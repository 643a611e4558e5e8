package provider

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Mode selects how a [Composite] combines its providers.
type Mode uint8

const (
	// DenyWins asks all providers, and the strictest answer wins. Each provider gets the input with
	// the patches of the previous ones.
	DenyWins Mode = iota
	// FirstNonNil uses the first answer and skips the remaining providers. It is unsafe, because an
	// allow by the first provider cancels a denial by the second.
	//
	// Notifications still reach every provider. If a provider fails before another has answered,
	// the hook fails, which denies the action only with hooks.OnFailure(hooks.Block).
	FirstNonNil
)

// Composite combines several providers into one.
func Composite(mode Mode, providers ...any) hooks.Registrar {
	if mode == FirstNonNil {
		return firstNonNil(providers)
	}
	return all(providers)
}

type all []any

// Register registers the hooks of every provider.
func (a all) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	var ids []hooks.ID
	for i, p := range a {
		more, err := r.Use(p, opts...)
		if err != nil {
			for _, id := range ids {
				r.Off(id)
			}
			return nil, fmt.Errorf("provider %d of a composite: %w", i+1, err)
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

type firstNonNil []any

// Register registers one hook for each point, which calls the providers of f in order until one has
// an answer.
func (f firstNonNil) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	inner := make([]*hooks.Registry, len(f))
	for i, p := range f {
		var err error
		if inner[i], err = newInner(p, hooks.Options{}); err != nil {
			return nil, fmt.Errorf("provider %d of a composite: %w", i+1, err)
		}
	}
	return r.Use(&router{
		name:  "first non-nil",
		route: func(context.Context, hooks.Meta) ([]*hooks.Registry, error) { return inner, nil },
	}, opts...)
}
