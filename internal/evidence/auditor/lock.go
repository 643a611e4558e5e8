package auditor

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// lockName is the name of the file that the auditor of a data directory has locked.
// One of all tenants has all of the lock; those of single tenants share it, and
// each has all of the lock of its tenant.
const lockName = "auditor.lock"

// turn is what makes a process the auditor of a data directory, or of one tenant
// in it.
type turn []*filelock.Lock

// Unlock ends the turn.
func (t turn) Unlock() error {
	var errs error
	for _, l := range t {
		errs = errors.Join(errs, l.Unlock())
	}
	return errs
}

// acquire waits for the turn, and finishes or takes away what a rebuild left.
func acquire(ctx context.Context, o Options) (_ turn, err error) {
	if err := makeDir(LedgerDir(o.DataDir)); err != nil {
		return nil, err
	}
	path := filepath.Join(LedgerDir(o.DataDir), lockName)
	waiting := func() {
		o.Logger.InfoContext(ctx, "another process is the auditor of this data directory: waiting for it to end")
	}
	if o.Tenant == "" {
		l, err := filelock.Wait(ctx, path, waiting)
		if err != nil {
			return nil, err
		}
		if err := placeOf(o.DataDir).settle(ctx, o.Logger); err != nil {
			return nil, errors.Join(err, l.Unlock())
		}
		return turn{l}, nil
	}
	// Only who is alone may settle; who is not finds it done.
	if l, err := filelock.Try(path); err == nil {
		if err := errors.Join(placeOf(o.DataDir).settle(ctx, o.Logger), l.Unlock()); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, filelock.ErrHeld) {
		return nil, err
	}
	share, err := filelock.Share(ctx, path, waiting)
	if err != nil {
		return nil, err
	}
	own, err := tenantLock(o.DataDir, o.Tenant)
	if err != nil {
		return nil, errors.Join(err, share.Unlock())
	}
	l, err := filelock.Wait(ctx, own, func() {
		o.Logger.InfoContext(ctx, "another process is the auditor of this tenant: waiting for it to end", "tenant", o.Tenant)
	})
	if err != nil {
		return nil, errors.Join(err, share.Unlock())
	}
	return turn{l, share}, nil
}

// tenantLock returns the file that the auditor of one tenant has locked. No folder
// of a tenant has such a name.
func tenantLock(dataDir, tenant string) (string, error) {
	name, err := subjects.Space{}.Durable(durable, tenant)
	if err != nil {
		return "", err
	}
	return filepath.Join(LedgerDir(dataDir), name+".lock"), nil
}
