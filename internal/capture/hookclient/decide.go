package hookclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

// errNobody is why there is no decision where nobody is asked for one.
var errNobody = errors.New("no publisher is running, and there are no hooks here")

// decide asks the hooks of --hooks and then a publisher, unless the call is
// denied already. The outcome is nil if nobody said anything; the error is what
// kept somebody from it who should have been asked.
func (h *hook) decide(ctx context.Context, p agents.Payload) (*hooks.DocumentOutcome, error) {
	if p.Document.Point == "" {
		return nil, nil //nolint:nilnil // there is nothing to decide
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	local, err := h.askHere(ctx, p.Document)
	if err != nil || local != nil && local.Verdict == hooks.Deny {
		return local, err
	}
	theirs, err := h.ask(ctx, after(p.Document, local), p.Decides)
	if errors.Is(err, errNobody) && local != nil {
		err = nil // these hooks are all that there are
	}
	return join(local, theirs), err
}

// askHere asks the hooks of --hooks; nil without the flag.
func (h *hook) askHere(ctx context.Context, d hooks.Document) (*hooks.DocumentOutcome, error) {
	if h.Hooks == "" {
		return nil, nil //nolint:nilnil // no hooks, no opinion
	}
	file, err := hookfile.Load(h.Hooks)
	if err != nil {
		return nil, err
	}
	r := hooks.NewRegistry(hooks.Options{
		Appender: LateOnly{To: hookAppender{h}}, Source: Source, ChainTimeout: h.Timeout,
	})
	if err := file.Register(r, hookfile.Options{}); err != nil {
		return nil, err
	}
	h.local = r
	d.Meta.Tenant = h.tenantOr()
	out, err := r.DispatchDocument(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("ask the hooks of %s: %w", h.Hooks, err)
	}
	return &out, nil
}

// Source is the source of events about hooks that run on by themselves.
const Source = "/hooks"

// hookAppender records events of hooks that run on.
type hookAppender struct{ h *hook }

// Append implements [hooks.Appender].
func (a hookAppender) Append(ctx context.Context, e events.Event) (events.Event, error) {
	return e, a.h.record(ctx, []events.Event{e})
}

// LateOnly records with To the executions of hooks that end after their dispatch,
// and no other events: those are in the event of the payload.
type LateOnly struct{ To hooks.Appender }

// Append implements [hooks.Appender].
func (l LateOnly) Append(ctx context.Context, e events.Event) (events.Event, error) {
	if e.Kind() != events.HookExecuted {
		return e, nil
	}
	return l.To.Append(ctx, e)
}
