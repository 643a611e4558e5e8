package auditor

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// GiveOrders signs orders, records them in the outbox and returns their ids. Large orders are
// split. Orders with returned ids are durable, even after an error. They take effect when the
// ledger gets them from the stream.
func GiveOrders(ctx context.Context, dataDir string, orders []ledger.Order) (ids []string, err error) {
	if !writer.HasKey(KeyDir(dataDir)) {
		return nil, fmt.Errorf("signing key not found in %s: orders are signed with it", KeyDir(dataDir))
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
