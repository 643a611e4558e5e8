package publisher

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	maxOwed        = 256
	maxOwedBytes   = 4 << 20
	maxOwedTenants = 1024
)

type owed struct {
	mu    sync.Mutex // guards the other fields
	list  []events.Event
	bytes int
	lost  map[string]int // by tenant
}

func (o *owed) add(list []events.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	size := 0
	for _, e := range list {
		size += len(e.Data) + len(e.Binary)
	}
	if len(o.list)+len(list) <= maxOwed && o.bytes+size <= maxOwedBytes {
		o.list = append(o.list, list...)
		o.bytes += size
		return
	}
	for _, e := range list {
		o.lose(orDefault(e.Tenant), 1)
	}
}

func (o *owed) lose(tenant string, n int) {
	if o.lost == nil {
		o.lost = map[string]int{}
	}
	if o.lost[tenant] == 0 && len(o.lost) >= maxOwedTenants {
		tenant = orDefault("")
	}
	o.lost[tenant] += n
}

func (o *owed) settle(ctx context.Context, to Appender) error {
	list, lost := o.take()
	for i, e := range list {
		if _, err := to.Append(ctx, e); err != nil && !errors.Is(err, publish.ErrDuplicate) {
			o.giveBack(list[i:], lost)
			return fmt.Errorf("record event %s: %w", e.ID, err)
		}
	}
	for tenant, n := range lost {
		e, err := lostDenials(tenant, n)
		if err == nil {
			_, err = to.Append(ctx, e)
		}
		if err != nil {
			o.giveBack(nil, lost)
			return fmt.Errorf("record the number of lost events: %w", err)
		}
		delete(lost, tenant)
	}
	return nil
}

func (o *owed) take() (list []events.Event, lost map[string]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, lost = o.list, o.lost
	o.list, o.bytes, o.lost = nil, 0, nil
	return list, lost
}

func (o *owed) giveBack(list []events.Event, lost map[string]int) {
	o.add(list)
	o.mu.Lock()
	defer o.mu.Unlock()
	for tenant, n := range lost {
		o.lose(tenant, n)
	}
}

func lostDenials(tenant string, n int) (events.Event, error) {
	e, err := events.New(events.Custom, "/publisher/hook", struct {
		events.CustomData
		Problems []string `json:"problems"`
		Lost     int      `json:"lost"`
	}{
		CustomData: events.CustomData{Name: events.HookProblem}, Lost: n,
		Problems: []string{fmt.Sprintf("%d events of denied calls were not recorded, because the outbox had no room", n)},
	})
	e.Tenant = tenant
	return e, err
}
