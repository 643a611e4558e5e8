package hookclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Source is the CloudEvents source of events about hooks that run in the background.
const Source = "/hooks"

var errNoHooks = errors.New("no publisher is running, and there are no hooks here")

func (c *call) decide(ctx context.Context, p agents.Payload) (agents.Reply, []events.Event) {
	out, err := c.dispatch(ctx, p)
	failed := err != nil && !errors.Is(err, errNoHooks)
	if agents.IsCanary(p.Document) {
		denial := canaryOutcome(out, err)
		return c.Tool.Reply(p, denial), p.Decided(denial)
	}
	if err == nil {
		err = c.Invalid
	} else if failed {
		c.note(err)
	}
	switch {
	case isDenial(out):
	case err != nil && c.FailClosed && p.Decides:
		denial := hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.Deny, Reason: closedReason(err)}
		return c.Tool.FailClosed(p, denial.Reason), p.Decided(denial)
	case out == nil:
		c.undecided = canDeny(p) && err != nil && !errors.Is(err, errNoHooks)
		return c.Tool.Reply(p, hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.None}), p.Events
	}
	return c.Tool.Reply(p, *out), p.Decided(*out)
}

func canaryOutcome(out *hooks.DocumentOutcome, err error) hooks.DocumentOutcome {
	switch {
	case err != nil:
		return agents.CanaryOutcome(err.Error())
	case out != nil && strings.HasPrefix(out.Reason, agents.CanaryReason):
		return *out
	}
	return agents.CanaryOutcome("by the hook command; the hooks of --hooks or an older publisher answered")
}

func (c *call) dispatch(ctx context.Context, p agents.Payload) (*hooks.DocumentOutcome, error) {
	if c.remote != nil || p.Document.Point == "" {
		return nil, c.remote
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	local, err := c.dispatchLocal(ctx, p.Document)
	if isDenial(local) {
		return local, err
	}
	d := patched(p.Document, local)
	d.Meta.Tenant = c.Tenant
	wait := quickResponse
	if canDeny(p) {
		wait = c.Timeout
	}
	remote, errRemote := c.publisher.ask(ctx, c.Tool.Name(), d, wait)
	if errors.Is(errRemote, errNoHooks) && (local != nil || err != nil) {
		errRemote = nil
	}
	return merge(local, remote), errors.Join(err, errRemote)
}

// askOwn asks the publisher of the data directory first, if c.Publisher names another one. If that
// publisher denies the call, the events are stored in the data directory, because the other one
// never sees the call.
func (c *call) askOwn(ctx context.Context, p agents.Payload) (agents.Reply, []events.Event, bool) {
	if !c.AskOwn || c.Publisher == "" || !canDeny(p) || agents.IsCanary(p.Document) {
		return agents.Reply{}, nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	own, d := &publisherClient{dataDir: c.DataDir}, p.Document
	d.Meta.Tenant = orDefault(c.Tenant)
	out, err := own.ask(ctx, c.Tool.Name(), d, c.Timeout)
	if err != nil && !errors.Is(err, errNoHooks) {
		c.note(err)
	}
	if !isDenial(out) {
		return agents.Reply{}, nil, false
	}
	c.publisher, c.recorder.publisher = own, own
	return c.Tool.Reply(p, *out), p.Decided(*out), true
}

func isDenial(out *hooks.DocumentOutcome) bool { return out != nil && out.Verdict == hooks.Deny }

func canDeny(p agents.Payload) bool {
	point, ok := hooks.PointNamed(string(p.Document.Point))
	return p.Decides && ok && point.Class == hooks.DecisionClass
}

func (c *call) dispatchLocal(ctx context.Context, d hooks.Document) (*hooks.DocumentOutcome, error) {
	if c.Hooks == "" {
		return nil, nil //nolint:nilnil // no hooks, no opinion
	}
	if c.Parts.Load == nil {
		return nil, errNoParts
	}
	r := hooks.NewRegistry(hooks.Options{Appender: LateOnly{To: c.recorder}, Source: Source, ChainTimeout: c.Timeout})
	if err := c.Parts.Load(c.Hooks, r); err != nil {
		return nil, err
	}
	c.hooks = r
	d.Meta.Tenant = orDefault(c.Tenant)
	out, err := r.DispatchDocument(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("ask the hooks of %s: %w", c.Hooks, err)
	}
	return &out, nil
}

// LateOnly stores only the events about hooks that end after the decision. The event about the
// payload already lists hooks that end earlier.
type LateOnly struct{ To hooks.Appender }

// Append implements [hooks.Appender].
func (l LateOnly) Append(ctx context.Context, e events.Event) (events.Event, error) {
	if e.Kind() != events.HookExecuted {
		return e, nil
	}
	return l.To.Append(ctx, e)
}
