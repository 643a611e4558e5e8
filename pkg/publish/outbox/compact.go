package outbox

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

const compactFactor = 4

func (f *forwarder) compact(ctx context.Context) error {
	o, c, log := f.outbox, f.backlog.cursor, f.backlog.log
	if !f.suspended.areAllWaiting() || f.collector.lagging.any() || log.Bytes() < compactFactor*max(o.stats().Bytes, f.opts.SegmentBytes) {
		return nil
	}
	if err := o.begin(ctx); err != nil {
		return err
	}
	defer o.end()
	end := log.End()
	if f.backlog.read != end {
		return nil
	}
	first, err := f.copySuspended(end)
	if err != nil {
		return fmt.Errorf("compact outbox: %w", err)
	}
	for tenant, ordinal := range first {
		f.suspended.byTenant[tenant].first = ordinal
	}
	c.Next, o.backlog.first = end+1, end+1
	o.backlog.generation++ // a running Flush then waits for the copies
	o.backlog.broadcast()
	return nil
}

func (f *forwarder) copySuspended(end uint64) (first map[string]uint64, err error) {
	log := f.backlog.log
	first = map[string]uint64{}
	for it, err := range f.backlog.records() {
		if err != nil {
			return nil, err
		}
		if it.Ordinal > end {
			break
		}
		if !f.suspended.isSuspended(it.Tenant) || it.Sequence <= f.chains.of(it.Tenant).Last {
			continue
		}
		it.Ordinal = log.End() + 1
		if err := log.Append(segment.Append(nil, &it.Record), it.Ordinal); err != nil {
			return nil, err
		}
		if first[it.Tenant] == 0 {
			first[it.Tenant] = it.Ordinal
		}
	}
	return first, log.SyncAll()
}
