package auditor

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// lockName is the lock file of a data directory. The auditor of all tenants locks it exclusively,
// and auditors of one tenant share it.
const lockName = "auditor.lock"

type locks []*filelock.Lock

// Unlock releases all locks.
func (t locks) Unlock() error {
	var errs error
	for _, l := range t {
		errs = errors.Join(errs, l.Unlock())
	}
	return errs
}

func acquire(ctx context.Context, o Options) (_ locks, err error) {
	if err := makeDir(LedgerDir(o.DataDir)); err != nil {
		return nil, err
	}
	path := filepath.Join(LedgerDir(o.DataDir), lockName)
	waiting := func() {
		o.Logger.InfoContext(ctx, "waiting for the auditor of this data directory to end")
	}
	if o.Tenant == "" {
		l, err := filelock.Wait(ctx, path, waiting)
		if err != nil {
			return nil, err
		}
		if err := stagingOf(o.DataDir).finish(ctx, o.Logger); err != nil {
			return nil, errors.Join(err, l.Unlock())
		}
		return locks{l}, nil
	}
	// Only a process with the exclusive lock may finish a rebuild. If another process holds that
	// lock, it has finished the rebuild already.
	if l, err := filelock.Try(path); err == nil {
		if err := errors.Join(stagingOf(o.DataDir).finish(ctx, o.Logger), l.Unlock()); err != nil {
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
		o.Logger.InfoContext(ctx, "waiting for the auditor of this tenant to end", "tenant", o.Tenant)
	})
	if err != nil {
		return nil, errors.Join(err, share.Unlock())
	}
	return locks{l, share}, nil
}

func tenantLock(dataDir, tenant string) (string, error) { return ownFile(dataDir, tenant, ".lock") }

// The file name contains a dot, so that it cannot be the name of a ledger folder.
func ownFile(dataDir, tenant, extension string) (string, error) {
	name, err := subjects.Space{}.Durable(durable, tenant)
	if err != nil {
		return "", err
	}
	return filepath.Join(LedgerDir(dataDir), name+extension), nil
}

func tryLock(dataDir, message string) (*filelock.Lock, error) {
	if err := makeDir(LedgerDir(dataDir)); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(filepath.Join(LedgerDir(dataDir), lockName))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, errors.New(message)
	}
	return lock, err
}
