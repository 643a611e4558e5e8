package auditor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// LooksServed is like [IsServed], but does not open the lock file, which may belong to another
// user.
func LooksServed(ctx context.Context, dataDir, tenant string) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond) // time for one attempt
	defer cancel()
	own, err := tenantLock(dataDir, tenant)
	if err != nil {
		return false, err
	}
	for _, path := range []string{filepath.Join(LedgerDir(dataDir), lockName), own} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		share, err := filelock.Share(ctx, path, func() {})
		if errors.Is(err, filelock.ErrHeld) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if err := share.Unlock(); err != nil {
			return false, err
		}
	}
	return false, nil
}
