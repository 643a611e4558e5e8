package publish

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

	reader *segment.Reader
	limit  int // events per batch, lower if the server takes no more
}

type batch struct {
	groups   []*group
	byTenant map[string]*group
	events   int // to send
	bytes    int // size of the events to send
	hasBegun bool
	shares   map[string]*share // all records that were read
}

// share is one tenant's part of a batch, including records that need not be sent.
type share struct {
	first   uint64 // ordinal
	records int
	bytes   int64
	ids     []segment.IDHash
}

// maxGroups keeps the events and manifests of a batch below the server's limit.
const maxGroups = 999 - maxBatchEvents

func (c *collector) rewind() {
	if c.reader != nil {
		c.reader.Close()
	}
	next := c.backlog.cursor.Next
	c.reader, c.backlog.read = c.backlog.log.Reader(next), next-1
}

// collect reads the next batch. At the end of the records it calls await, which
// returns true if the batch should be sent.
func (c *collector) collect(await func(linger <-chan time.Time, hasBegun bool) (bool, error)) (*batch, error) {
	if c.suspended.retryDue(time.Now()) {
		c.rewind()
	}
	b := &batch{byTenant: map[string]*group{}, shares: map[string]*share{}}
	var linger <-chan time.Time
	for b.events < c.limit && len(b.groups) < maxGroups && b.bytes < c.opts.BatchBytes {
		it, err := c.reader.Next()
		if err == nil {
			c.take(b, it)
			continue
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
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
	return b, nil
}

func (c *collector) take(b *batch, it segment.Item) {
	switch {
	case it.Ordinal > c.backlog.read:
		c.backlog.read = it.Ordinal
	case it.Ordinal > 0 || !b.hasBegun && c.backlog.read < c.backlog.cursor.Next:
		return // in front of the first record that waits
	}
	b.hasBegun = true
	c.suspended.count(b, it)
	if it.Fault != segment.Intact || it.Sequence <= c.chains.of(it.Tenant).Last || c.suspended.isSuspended(it.Tenant) {
		return
	}
	g := b.byTenant[it.Tenant]
	if g == nil {
		g = &group{tenant: it.Tenant}
		b.byTenant[it.Tenant] = g
		b.groups = append(b.groups, g)
	}
	if n := len(g.entries); n > 0 && it.Sequence <= g.entries[n-1].sequence {
		return // compaction copied a record that is still there
	}
	e := newEntry(it)
	e.event = append(make([]byte, 0, len(it.Event)), it.Event...)
	g.entries = append(g.entries, e)
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
