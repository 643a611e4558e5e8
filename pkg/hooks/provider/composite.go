package provider

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Mode is how the providers of a [Composite] go together.
type Mode uint8

const (
	// DenyWins registers every provider, as if each were used by itself: a deny
	// beats an ask beats an allow, whatever the order, and changes are chained.
	DenyWins Mode = iota
	// FirstNonNil takes the first answer that is one, and asks no provider after
	// it: the literal rule of some hook systems. It is unsafe. An allow of the
	// first hides the deny of the second, and a provider that only adds a context
	// switches off all rules after it. It is here for rules that were written for
	// it; notifications go to every provider all the same. A provider that fails
	// before another has answered fails them all: register it with
	// hooks.OnFailure(hooks.Block) to deny then.
	FirstNonNil
)

// Composite returns the providers as one.
func Composite(mode Mode, providers ...any) hooks.Registrar {
	if mode == FirstNonNil {
		return firstNonNil(providers)
	}
	return all(providers)
}

// all is providers of which each counts.
type all []any

// Register registers each of them.
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

// firstNonNil is providers of which the first that answers counts.
type firstNonNil []any

// Register registers them as one.
func (f firstNonNil) Register(r *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	inner := make([]*hooks.Registry, len(f))
	for i, p := range f {
		var err error
		if inner[i], err = nested(p, hooks.Options{}); err != nil {
			return nil, fmt.Errorf("provider %d of a composite: %w", i+1, err)
		}
	}
	return r.Use(&nest{
		name:  "first non-nil",
		route: func(context.Context, hooks.Meta) ([]*hooks.Registry, error) { return inner, nil },
	}, opts...)
}
