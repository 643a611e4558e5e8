package outbox

import (
	"errors"
	"io"
	"time"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

type collector struct {
	opts      Options
	backlog   *waiting
	chains    *chains
	suspended *suspensions
	lagging   *laggards

	reader *segment.Reader // reads the tenants that have no separate reader
	limit  int             // events per batch, lowered if the server accepts only smaller batches
}

type batch struct {
	groups   []*group
	byTenant map[string]*group
	events   int // to be sent
	bytes    int // to be sent
	hasBegun bool
	shares   map[string]*share // by tenant, all records read for the batch
}

type share struct {
	first, last uint64 // ordinals
	records     int
	bytes       int64
	ids         []segment.IDHash
}

const (
	// maxGroups limits the groups of a batch. Each group adds a manifest, and the server limits
	// the messages in a batch.
	maxGroups = 999 - maxBatchEvents
	// A tenant with more than 1/shares of the events in a batch gets a separate reader.
	shares = 8
	// maxSkim limits how many bytes are read for a batch, because skipping records also takes
	// time.
	maxSkim = 8 << 20
)

func (c *collector) rewind() {
	c.close()
	next := c.backlog.cursor.Next
	c.reader, c.backlog.read = c.backlog.log.Reader(next), next-1
}

func (c *collector) close() {
	if c.reader != nil {
		c.reader.Close()
	}
	c.lagging.clear()
}

// If await returns true, the batch is complete.
func (c *collector) collect(await func(linger <-chan time.Time, hasBegun bool) (bool, error)) (*batch, error) {
	if c.suspended.retryDue(time.Now()) {
		c.rewind()
	}
	b := &batch{byTenant: map[string]*group{}, shares: map[string]*share{}}
	var linger <-chan time.Time
	for {
		atEnd, err := c.readNew(b)
		if err == nil {
			err = c.readLagging(b)
		}
		if err != nil {
			return nil, err
		}
		if !atEnd || c.lagging.any() || b.isFull(c.room()) {
			return b, nil
		}
		if b.hasBegun && linger == nil {
			timer := time.NewTimer(c.opts.Linger)
			defer timer.Stop()
			linger = timer.C
		}
		if isDone, err := await(linger, b.hasBegun); isDone || err != nil {
			return b, err
		}
	}
}

type room struct{ events, bytes, groups int }

func (c *collector) room() room {
	return room{events: c.limit, bytes: c.opts.BatchBytes, groups: maxGroups}
}

func (b *batch) isFull(r room) bool {
	return b.events >= r.events || b.bytes >= r.bytes || len(b.groups) >= r.groups
}

func (c *collector) readNew(b *batch) (atEnd bool, err error) {
	for skimmed := 0; skimmed < maxSkim; {
		r := c.room()
		if c.lagging.any() {
			r = room{events: (r.events + 1) / 2, bytes: (r.bytes + 1) / 2, groups: r.groups - maxLaggards}
		}
		if b.isFull(r) {
			return false, nil
		}
		it, err := c.reader.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		skimmed += it.Size
		c.take(b, it)
	}
	return false, nil
}

func (c *collector) take(b *batch, it segment.Item) {
	switch {
	case it.Ordinal > c.backlog.read:
		c.backlog.read = it.Ordinal
	case it.Ordinal > 0 || !b.hasBegun && c.backlog.read < c.backlog.cursor.Next:
		return // before the first unsettled record
	}
	b.hasBegun = true
	if c.lagging.has(it) || c.hasShare(b, it) && c.lagging.add(c.reader, it) {
		return
	}
	c.add(b, it)
}

func (c *collector) hasShare(b *batch, it segment.Item) bool {
	g := b.byTenant[it.Tenant]
	return g != nil && c.isToSend(it) && (len(g.entries) > c.limit/shares || g.bytes > c.opts.BatchBytes/shares)
}

func (c *collector) isToSend(it segment.Item) bool {
	return it.Fault == segment.Intact && it.Sequence > c.chains.of(it.Tenant).Last && !c.suspended.isSuspended(it.Tenant)
}

func (c *collector) add(b *batch, it segment.Item) {
	c.suspended.count(b, it)
	if !c.isToSend(it) {
		return
	}
	g := b.byTenant[it.Tenant]
	if g == nil {
		g = &group{tenant: it.Tenant}
		b.byTenant[it.Tenant] = g
		b.groups = append(b.groups, g)
	}
	if n := len(g.entries); n > 0 && it.Sequence <= g.entries[n-1].sequence {
		return // copied by compaction. The original is in the batch
	}
	e := newEntry(it)
	e.event = append(make([]byte, 0, len(it.Event)), it.Event...)
	g.entries = append(g.entries, e)
	g.bytes += len(it.Event)
	b.events++
	b.bytes += len(it.Event)
}

func (c *collector) shrink(groups []*group) {
	n := 0
	for _, g := range groups {
		n += len(g.entries)
	}
	c.limit = max(min(c.limit, n)/2, 1)
}
