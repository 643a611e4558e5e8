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

// RotateKey replaces the signing key of a data directory. No auditor may use the directory
// meanwhile. signer says where the new key is stored, see [writer.ParsePlace]. If signer is empty,
// a key in a file is replaced by a key in a file, and a key in an ssh-agent is an error.
func RotateKey(ctx context.Context, dataDir string, o ledger.Order, signer string, destroy bool) (done writer.Rotated, err error) {
	place, err := placeOfNext(KeyDir(dataDir), signer)
	if err != nil {
		return done, err
	}
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
	return writer.Rotate(writer.Rotation{
		Dir: KeyDir(dataDir), Tenants: tenants, Newest: newestOf(ctx, dataDir, tenants), Order: o, Signer: place, Destroy: destroy,
	})
}

func newestOf(ctx context.Context, dataDir string, tenants []string) map[string][]byte {
	newest := make(map[string][]byte)
	for _, tenant := range tenants {
		r, err := ledger.OpenTenant(LedgerDir(dataDir), tenant)
		if err != nil {
			continue // the auditor reports it at its next start
		}
		signed, _, err := r.Signed(ctx)
		if errors.Join(err, r.Close()) == nil {
			newest[tenant] = signed
		}
	}
	return newest
}

func placeOfNext(dir, signer string) (place writer.Place, err error) {
	if signer != "" {
		return writer.ParsePlace(signer)
	}
	if !writer.HasKey(dir) {
		return place, nil // the rotation reports the missing key
	}
	key, err := writer.OpenKey(dir)
	if err == nil && key.InAgent() {
		err = errors.New("an ssh-agent has the present key: name the new one with --signer ssh-agent:FINGERPRINT, or --signer file")
	}
	return place, err
}

func (l *ledgers) sendKeyChanges(ctx context.Context) error {
	if l.opts.Standby {
		return nil // the stream delivers the other auditor's orders
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
