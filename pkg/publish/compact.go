package publish

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

// compactFactor is the ratio of the size on disk to the size of the waiting
// records at which an outbox is compacted.
const compactFactor = 4

// compact copies the waiting records of suspended tenants to the end of the
// outbox, so that the sent records between them can be removed. The copies keep
// their numbers. After a crash a record can be there twice, and it is sent once.
// compact does nothing while there are records to read.
func (f *forwarder) compact(ctx context.Context) error {
	o, c, log := f.outbox, f.backlog.cursor, f.backlog.log
	if !f.suspended.areAllWaiting() || log.Bytes() < compactFactor*max(o.stats().Bytes, f.opts.SegmentBytes) {
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
	o.backlog.generation++ // a flush waits for the copies instead
	o.backlog.broadcast()
	return nil
}

// copySuspended copies the waiting records of suspended tenants up to the ordinal
// end. It returns the ordinal of each tenant's first copy.
func (f *forwarder) copySuspended(end uint64) (first map[string]uint64, err error) {
	log := f.backlog.log
	first = map[string]uint64{}
	rd := log.Reader(f.backlog.cursor.Next)
	defer rd.Close()
	for {
		it, err := rd.Next()
		switch {
		case errors.Is(err, io.EOF) || err == nil && it.Ordinal > end:
			return first, log.SyncAll()
		case err != nil:
			return nil, err
		case !f.mustCopy(it):
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
}

// mustCopy reports whether an item is a waiting record of a suspended tenant.
func (f *forwarder) mustCopy(it segment.Item) bool {
	return it.Fault == segment.Intact && it.Ordinal >= f.backlog.cursor.Next && f.suspended.isSuspended(it.Tenant) &&
		it.Sequence > f.chains.of(it.Tenant).Last
}
