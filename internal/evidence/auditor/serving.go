package auditor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// IsServed reports whether an auditor of this tenant, or of all tenants, is running.
func IsServed(ctx context.Context, dataDir, tenant string) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond) // time for one attempt
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

// StateOwner says which auditor writes the tenant's ledger. It returns tenant for an auditor that
// serves only this tenant, or "" for an auditor that serves all tenants.
func StateOwner(dataDir, tenant string) (string, error) {
	for _, who := range []string{"", tenant} {
		path, err := ownFile(dataDir, who, ".db")
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err == nil {
			return who, nil
		}
	}
	return "", nil
}
