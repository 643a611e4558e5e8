package auditor

import (
	"context"
	"errors"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// RotateKey replaces the signing key of a data directory. It fails while an auditor
// runs there.
func RotateKey(dataDir string, o ledger.Order, destroy bool) (done writer.Rotated, err error) {
	lock, err := tryLock(dataDir, "an auditor runs on this data directory and signs with the current key: "+
		"stop it (auditor serve, or hooktrail up), rotate, and start it again")
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	tenants, err := ledger.Tenants(LedgerDir(dataDir))
	if err != nil {
		return done, err
	}
	return writer.Rotate(writer.Rotation{Dir: KeyDir(dataDir), Tenants: tenants, Order: o, Destroy: destroy})
}

// sendKeyChanges records the key change orders that ledgers lack. An order may be sent
// twice and takes effect once.
func (l *ledgers) sendKeyChanges(ctx context.Context) error {
	if l.opts.Standby {
		return nil // the stream delivers them
	}
	changes, err := ledger.ReadKeyChanges(KeyDir(l.opts.DataDir))
	if err != nil || len(changes) == 0 {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tenant := range l.tenants(ctx) {
		last := changes[len(changes)-1]
		if l.suspended[tenant] != nil || !slices.Contains(last.Tenants, tenant) {
			continue
		}
		one, err := l.set.Ledger(ctx, tenant)
		if errors.Is(err, ledger.ErrDamaged) {
			l.suspend(ctx, tenant, err)
			continue
		}
		if err != nil {
			return err
		}
		for _, signed := range one.Missing() {
			d := events.AuditAccessedData{
				Action: events.AuditKey, By: last.By, Reason: last.Reason, Ticket: last.Ticket, Order: signed,
			}
			if _, err := access.Record(ctx, l.opts.DataDir, tenant, d); err != nil {
				return err
			}
		}
	}
	return nil
}
