package auditor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// isServed reports whether a process is the auditor of a tenant: that of all
// tenants, which has the whole lock, or that of this one.
func IsServed(ctx context.Context, dataDir, tenant string) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond) // it is tried once
	defer cancel()
	share, err := filelock.Share(ctx, filepath.Join(LedgerDir(dataDir), lockName), func() {})
	if errors.Is(err, filelock.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, share.Unlock()) }()
	path, err := tenantLock(dataDir, tenant)
	if err != nil {
		return false, err
	}
	own, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, own.Unlock()
}

// whoServes returns whose auditor keeps the ledger of a tenant when one runs: empty
// for that of all tenants. Its state tells; another one would read the stream from
// its beginning.
func StateOwner(dataDir, tenant string) (string, error) {
	for _, who := range []string{"", tenant} {
		path, err := statePath(dataDir, who)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err == nil {
			return who, nil
		}
	}
	return "", nil
}

// statePath returns the file of the state of the auditor of a tenant, or of all.
func statePath(dataDir, tenant string) (string, error) {
	name, err := subjects.Space{}.Durable(durable, tenant)
	if err != nil {
		return "", err
	}
	return filepath.Join(LedgerDir(dataDir), name+".db"), nil
}
