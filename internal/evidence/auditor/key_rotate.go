package auditor

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// rotateKey replaces the key of a data directory while no auditor runs there.
func RotateKey(dataDir string, o ledger.Order, destroy bool) (done writer.Rotated, err error) {
	if err := makeDir(LedgerDir(dataDir)); err != nil {
		return done, err
	}
	lock, err := filelock.Try(filepath.Join(LedgerDir(dataDir), lockName))
	if errors.Is(err, filelock.ErrHeld) {
		return done, errors.New("an auditor runs on this data directory and signs with the present key: " +
			"stop it (auditor serve, or hooktrail up), rotate, and start it again")
	}
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

// sendKeyChanges puts the orders that put the present key in charge on record for
// the ledgers to which they have not come. One that is on its way is sent twice,
// and takes effect once.
func (p *projected) sendKeyChanges(ctx context.Context) error {
	if p.opts.Standby {
		return nil // it sends nothing, and gets them all the same
	}
	changes, err := ledger.ReadKeyChanges(KeyDir(p.opts.DataDir))
	if err != nil || len(changes) == 0 {
		return err
	}
	tenants, err := p.opts.tenants()
	if err != nil { // only of ids so long that the folder does not tell them
		p.opts.Logger.ErrorContext(ctx, "ledgers were not read", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tenant := range tenants {
		last := changes[len(changes)-1]
		if p.held[tenant] != nil || !slices.Contains(last.Tenants, tenant) {
			continue
		}
		l, err := p.set.Ledger(ctx, tenant)
		if errors.Is(err, ledger.ErrDamaged) {
			p.hold(ctx, tenant, err)
			continue
		}
		if err != nil {
			return err
		}
		for _, signed := range l.Missing() {
			d := events.AuditAccessedData{
				Action: events.AuditKey, By: last.By, Reason: last.Reason, Ticket: last.Ticket, Order: signed,
			}
			if _, err := access.Record(ctx, p.opts.DataDir, tenant, d); err != nil {
				return err
			}
		}
	}
	return nil
}
