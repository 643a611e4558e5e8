package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// errDiverged says that the stream has events under our producer id that our
// outbox does not have. The outbox was restored from a copy, or a copy of it is in
// use.
var errDiverged = errors.New("the stream has other events under this producer id")

// chains knows the chain of manifests of each tenant. It compares the outbox with
// the stream and settles the events that the stream has.
type chains struct {
	opts    Options
	nc      *nats.Conn
	outbox  *outbox
	backlog *waiting
	seals   *seals
	status  *status

	missing []state.Gap // listed as missing by the last manifests, and to be recorded
}

func (c *chains) of(tenant string) cursor.Chain {
	if ch := c.backlog.cursor.Chains()[tenant]; ch != nil {
		return *ch
	}
	return cursor.Chain{}
}

// trim removes from g the events that are settled. It asks the stream first if
// the chain is unknown.
func (c *chains) trim(ctx context.Context, g *group) error {
	if !c.of(g.tenant).Known {
		if err := c.lookUp(ctx, g.tenant); err != nil {
			return fmt.Errorf("look up chain: %w", err)
		}
	}
	g.trim(c.of(g.tenant).Last)
	return nil
}

// invalidate makes the next attempt look up the chains of groups.
func (c *chains) invalidate(groups []*group) {
	for _, g := range groups {
		c.backlog.cursor.Chain(g.tenant).Known = false
	}
}

// lookUp compares the chain of a tenant with the last manifest in the stream. It
// settles the batches that were stored without an answer.
func (c *chains) lookUp(ctx context.Context, tenant string) error {
	raw, sequence, err := c.lastManifest(ctx, tenant)
	if err != nil {
		return err
	}
	ch := c.backlog.cursor.Chain(tenant)
	if raw == nil {
		// Nothing was sent yet, or the stream no longer has it.
		ch.Fence, ch.Known = 0, true
		return nil
	}
	m, err := events.DecodeManifest(raw)
	hash := events.HashOf(raw).String()
	switch {
	case err != nil || m.Tenant != tenant || m.Producer != c.backlog.producer:
		return errDiverged
	case m.Last == ch.Last && hash != ch.Prev:
		return errDiverged
	case m.Last > ch.Last:
		if err := c.catchUp(*ch, m, hash); err != nil {
			return err
		}
		c.acknowledged(ctx, []*group{{tenant: tenant}})
	}
	ch.Fence, ch.Known = sequence, true
	return nil
}

// lastManifest returns the last manifest of a tenant in the stream and its stream
// sequence. The manifest is nil if there is none.
func (c *chains) lastManifest(ctx context.Context, tenant string) ([]byte, uint64, error) {
	subject, err := c.outbox.space.Chain(tenant, c.backlog.producer)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.AckWait)
	defer cancel()
	raw, sequence, err := atomicbatch.LastMessage(ctx, c.nc, c.outbox.space.EventStream(), subject)
	if err != nil {
		return nil, 0, fmt.Errorf("last manifest: %w", err)
	}
	return raw, sequence, nil
}

// catchUp settles the events between ch and m, which the stream has, if the
// outbox has the same events.
func (c *chains) catchUp(ch cursor.Chain, m events.Manifest, hash string) error {
	g := group{tenant: m.Tenant}
	var listed []events.Hash
	last := ch.Last
	err := c.backlog.each(func(it segment.Item) {
		// A sequence can occur twice, because compaction copies records.
		if it.Tenant != m.Tenant || it.Sequence <= last || it.Sequence > m.Last || lists(m, it.Sequence) {
			return
		}
		last = it.Sequence
		e := newEntry(it)
		g.entries = append(g.entries, e)
		if it.Sequence >= m.First {
			listed = append(listed, e.hash)
		}
	})
	if err != nil {
		return err
	}
	if uint64(len(listed)) != m.Count || events.BatchRoot(listed).String() != m.Root {
		return errDiverged
	}
	c.settled(&g, m, hash)
	return nil
}

// settled notes that the stream has the events of g and their manifest m.
func (c *chains) settled(g *group, m events.Manifest, hash string) {
	ch := c.backlog.cursor.Chain(g.tenant)
	for _, r := range m.Missing {
		if r.Last > ch.Last && (r.Reason == state.ReasonRefused || r.Reason == state.ReasonUnknown) {
			ch.Owed = append(ch.Owed, r)
			c.missing = append(c.missing, state.Gap{Tenant: g.tenant, Range: r})
		}
	}
	ch.Last, ch.Prev = m.Last, hash
	c.backlog.cursor.Touch(g.tenant)
	c.seals.count(g.tenant, g.entries, c.backlog.read)
	for _, e := range g.entries {
		if e.kind == events.GapRecorded {
			ch.Owed = slices.DeleteFunc(ch.Owed, func(r events.Range) bool { return r == e.gap })
		}
	}
	c.status.acknowledged(len(g.entries))
}

// acknowledged passes the settled numbers and the new losses to the outbox.
func (c *chains) acknowledged(ctx context.Context, groups []*group) {
	for _, g := range groups {
		c.outbox.forgetGaps(g.tenant, c.of(g.tenant).Last)
	}
	if len(c.missing) == 0 {
		return
	}
	for _, r := range c.missing {
		if r.Reason == state.ReasonRefused {
			c.status.refuse(r.Last - r.First + 1)
		}
		c.opts.Logger.Error("events lost", "tenant", r.Tenant, "first", r.First, "last", r.Last, "reason", r.Reason)
	}
	c.outbox.addLosses(ctx, c.missing...)
	c.missing = nil
}
