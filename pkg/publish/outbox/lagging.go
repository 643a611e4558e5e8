package outbox

import (
	"errors"
	"io"
	"math"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

const maxLaggards = 16

type laggards struct {
	list []*laggard // in the order of their turns
}

type laggard struct {
	tenant string
	reader *segment.Reader
	read   uint64 // ordinal of the last record that was read
}

func (l *laggards) any() bool { return len(l.list) > 0 }

func (l *laggards) has(it segment.Item) bool {
	return it.Fault != segment.Unreadable && l.isAmong(it.Tenant)
}

func (l *laggards) isAmong(tenant string) bool {
	return slices.ContainsFunc(l.list, func(t *laggard) bool { return t.tenant == tenant })
}

func (l *laggards) add(r *segment.Reader, item segment.Item) bool {
	if len(l.list) >= maxLaggards {
		return false
	}
	l.list = append(l.list, &laggard{tenant: item.Tenant, reader: r.Again(item), read: item.Ordinal - 1})
	return true
}

func (l *laggards) drop(tenant string) {
	l.list = slices.DeleteFunc(l.list, func(t *laggard) bool {
		if t.tenant == tenant {
			t.reader.Close()
		}
		return t.tenant == tenant
	})
}

func (l *laggards) clear() {
	for _, t := range l.list {
		t.reader.Close()
	}
	l.list = nil
}

func (l *laggards) next() uint64 {
	next := uint64(math.MaxUint64)
	for _, t := range l.list {
		next = min(next, t.read+1)
	}
	return next
}

func (c *collector) readLagging(b *batch) error {
	turns := slices.Clone(c.lagging.list)
	for i, t := range turns {
		r, left := c.room(), len(turns)-i
		r.events = b.events + (r.events-b.events+left-1)/left
		r.bytes = b.bytes + (r.bytes-b.bytes+left-1)/left
		isLevel, err := c.readLaggard(b, t, r)
		if err != nil {
			return err
		}
		c.lagging.list = c.lagging.list[1:]
		if isLevel {
			t.reader.Close()
		} else {
			c.lagging.list = append(c.lagging.list, t)
		}
	}
	return nil
}

func (c *collector) readLaggard(b *batch, t *laggard, r room) (isLevel bool, err error) {
	b.hasBegun = true // the cursor can move even if t has no event
	for skimmed := 0; t.read < c.backlog.read; {
		if b.isFull(r) || skimmed >= maxSkim {
			return false, nil
		}
		it, err := t.reader.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		skimmed += it.Size
		t.read = max(t.read, it.Ordinal)
		if it.Tenant == t.tenant && it.Fault != segment.Unreadable {
			c.add(b, it)
		}
	}
	return true, nil
}
