package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// errDiverged means that the stream has events of this producer that the outbox lacks, for example
// because an old copy of the outbox was restored.
var errDiverged = errors.New("the stream has other events under this producer id")

type chains struct {
	opts    Options
	server  transport.Server
	outbox  *outbox
	backlog *waiting
	seals   *seals
	status  *status

	missing []state.Gap            // listed as missing in manifests, not recorded yet
	sent    map[string]events.Hash // last manifest that was sent, by tenant
	ignored map[string]uint64      // stream sequence of the last foreign manifest, by tenant
}

func (c *chains) of(tenant string) cursor.Chain {
	if ch := c.backlog.cursor.Chains()[tenant]; ch != nil {
		return *ch
	}
	return cursor.Chain{}
}

func (c *chains) trim(ctx context.Context, g *group) error {
	if !c.of(g.tenant).Known {
		if err := c.lookUp(ctx, g.tenant); err != nil {
			return fmt.Errorf("look up chain: %w", err)
		}
	}
	ch := c.of(g.tenant)
	g.trim(ch.Last)
	if _, next := c.backlog.id.signerOf(ch); next == "" {
		g.rekeys = false
	}
	return nil
}

func (c *chains) invalidate(groups []*group) {
	for _, g := range groups {
		c.backlog.cursor.Chain(g.tenant).Known = false
	}
}

func (c *chains) lookUp(ctx context.Context, tenant string) error {
	raw, sequence, err := c.lastManifest(ctx, tenant)
	if err != nil {
		return err
	}
	ch := c.backlog.cursor.Chain(tenant)
	if raw == nil {
		ch.Fence, ch.Known = 0, true
		return nil
	}
	if hash := events.HashOf(raw); hash.String() != ch.Prev {
		if err := c.compare(ctx, ch, tenant, raw, sequence); err != nil {
			return err
		}
	}
	ch.Fence, ch.Known = sequence, true
	return nil
}

func (c *chains) compare(ctx context.Context, ch *cursor.Chain, tenant string, raw []byte, sequence uint64) error {
	m, err := events.DecodeManifest(raw)
	hash := events.HashOf(raw)
	switch {
	case err != nil || !c.isOwn(m, tenant, ch.Signed):
		c.ignore(tenant, sequence)
	case isEmptyNext(m, ch):
		// m is an empty manifest of this producer, such as a heartbeat, whose acknowledgement was
		// lost.
		c.settled(&group{tenant: tenant}, m, hash.String())
	case m.Last == ch.Last && m.Beat == ch.Beat || m.Key == c.backlog.id.OldKey && m.Next != c.backlog.id.Key:
		return errDiverged
	case m.Last > ch.Last:
		if err := c.catchUp(*ch, m, hash); err != nil {
			return err
		}
		c.acknowledged(ctx, []*group{{tenant: tenant}})
	}
	return nil
}

func isEmptyNext(m events.Manifest, ch *cursor.Chain) bool {
	return m.Last == ch.Last && m.First > m.Last && (m.Prev == ch.Prev || m.Beat > ch.Beat)
}

func (c *chains) isOwn(m events.Manifest, tenant string, isChainSigned bool) bool {
	if m.Tenant != tenant || m.Producer != c.backlog.producer {
		return false
	}
	id := c.backlog.id
	switch {
	case !m.IsSigned(): // sent by an older version
		return id.Unsigned && !isChainSigned
	case id.next != nil && isSignedBy(m, id.next.public):
		return true
	}
	return isSignedBy(m, id.Key) || id.OldKey != "" && isSignedBy(m, id.OldKey)
}

func (c *chains) sign(m events.Manifest) (events.Manifest, error) {
	ch := c.of(m.Tenant)
	s, next := c.backlog.id.signerOf(ch)
	m.Next = next
	if i := c.opts.issuer; i.owesGrant(ch) {
		g, err := i.Grant(m.Tenant, m.Producer, s.public, time.Time{})
		if err != nil {
			return m, err
		}
		m.Grant = &g
	}
	return s.sign(m)
}

func (c *chains) ignore(tenant string, sequence uint64) {
	if c.ignored[tenant] == sequence {
		return
	}
	c.ignored[tenant] = sequence
	c.status.ignore()
	subject, _ := c.outbox.space.Chain(tenant, c.backlog.producer) // the ids are from a stored event
	c.opts.Logger.Error("foreign manifest ignored, another client writes to the chain of this producer",
		"subject", subject, "stream_sequence", sequence)
}

func (c *chains) sending(tenant string, hash events.Hash) { c.sent[tenant] = hash }

func (c *chains) forget() {
	c.sent, c.ignored = map[string]events.Hash{}, map[string]uint64{}
}

func (c *chains) lastManifest(ctx context.Context, tenant string) ([]byte, uint64, error) {
	subject, err := c.outbox.space.Chain(tenant, c.backlog.producer)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.AckWait)
	defer cancel()
	raw, sequence, err := c.server.LastMessage(ctx, c.outbox.space.EventStream(), subject)
	if err != nil {
		return nil, 0, fmt.Errorf("last manifest: %w", err)
	}
	return raw, sequence, nil
}

// catchUp marks the events of m as sent, because the stream already contains this manifest.
func (c *chains) catchUp(ch cursor.Chain, m events.Manifest, hash events.Hash) error {
	if m.Last > c.outbox.lastNumber(m.Tenant) {
		return errDiverged
	}
	g := group{tenant: m.Tenant}
	var listed []events.Hash
	last := ch.Last
	for it, err := range c.backlog.records() {
		if err != nil {
			return err
		}
		// Compaction copies records, so an event with this number may have been read before.
		if it.Tenant != m.Tenant || it.Sequence <= last || it.Sequence > m.Last {
			continue
		}
		if lists(m, it.Sequence) {
			if hash != c.sent[m.Tenant] {
				return errDiverged
			}
			continue // this process listed the event as refused in the manifest
		}
		last = it.Sequence
		e := newEntry(it)
		g.entries = append(g.entries, e)
		if it.Sequence >= m.First {
			listed = append(listed, e.hash)
		}
	}
	if !isAbout(m, listed, len(g.entries)) {
		return errDiverged
	}
	c.settled(&g, m, hash.String())
	return nil
}

func isAbout(m events.Manifest, listed []events.Hash, size int) bool {
	return uint64(len(listed)) == m.Count && events.BatchRoot(listed).String() == m.Root && (m.Count > 0 || size == 0)
}

func (c *chains) settled(g *group, m events.Manifest, hash string) {
	ch := c.backlog.cursor.Chain(g.tenant)
	for _, r := range m.Missing {
		if r.Last > ch.Last && (r.Reason == state.ReasonRefused || r.Reason == state.ReasonUnknown) {
			ch.Owed = append(ch.Owed, r)
			c.missing = append(c.missing, state.Gap{Tenant: g.tenant, Range: r})
		}
	}
	ch.Last, ch.Prev, ch.Signed = m.Last, hash, m.IsSigned()
	if id := c.backlog.id; m.Next != "" || id.next != nil && m.Key == id.next.public {
		ch.Key = cmp.Or(m.Next, m.Key)
	}
	if m.Grant != nil {
		ch.Issuer, ch.Endorsement = m.Grant.Issuer, hashOfNote(m.Grant.Endorsed)
	}
	ch.Announced(m, time.Now())
	c.backlog.cursor.Touch(g.tenant)
	c.seals.count(g.tenant, g.entries, c.backlog.read)
	for _, e := range g.entries {
		if e.kind == events.GapRecorded {
			ch.Owed = slices.DeleteFunc(ch.Owed, func(r events.Range) bool { return r == e.gap })
		}
	}
	c.status.acknowledged(len(g.entries))
}

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
