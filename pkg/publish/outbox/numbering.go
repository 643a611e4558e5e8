package outbox

import (
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

type numbering struct {
	next map[string]uint64 // tenants that are not in the map begin at 1
	gaps state.Gaps
}

func (n *numbering) nextOf(tenant string) uint64 { return max(n.next[tenant], 1) }

func (n *numbering) advance(tenant string, next uint64) {
	n.next[tenant] = max(n.nextOf(tenant), next)
}

func (n *numbering) lose(g state.Gap) {
	n.advance(g.Tenant, g.Last+1)
	n.gaps.Add(g)
}

func (o *outbox) missing(tenant string, first, last uint64) []events.Range {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.numbers.gaps.Ranges(tenant, first, last)
}

func (o *outbox) lastNumber(tenant string) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.numbers.nextOf(tenant) - 1
}

func (o *outbox) forgetGaps(tenant string, last uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.numbers.gaps.Forget(tenant, last)
}

func (o *outbox) hasOtherTenants(tenant string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, itself := o.numbers.next[tenant]
	return len(o.numbers.next) > 1 || len(o.numbers.next) == 1 && !itself
}
