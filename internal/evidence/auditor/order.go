package auditor

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// giveOrders signs orders and puts them on record, cut into as many as fit into
// events, and returns their ids. When it returns nil all are on disk, in the
// outbox that the auditor sends; each takes effect where it comes back in the
// stream. After an error those whose ids it returns are.
func GiveOrders(ctx context.Context, dataDir string, orders []ledger.Order) (ids []string, err error) {
	if !writer.HasKey(KeyDir(dataDir)) {
		return nil, fmt.Errorf("an order needs the signing key, and there is none in %s", KeyDir(dataDir))
	}
	key, err := writer.OpenKey(KeyDir(dataDir))
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		for _, part := range o.Split(events.NewID) {
			signed, err := key.Sign(part)
			if err != nil {
				return ids, err
			}
			if _, err := access.Record(ctx, dataDir, part.Tenant, access.OrderRecord(part, string(signed))); err != nil {
				return ids, err
			}
			ids = append(ids, part.ID)
		}
	}
	return ids, nil
}
