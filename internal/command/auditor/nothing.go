package auditor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// An empty ledger file in the data directory is not a missing ledger, because an attacker may have
// emptied it.
func findLedger(dataDir, tenant, file string) error {
	path, err := ledgerPath(dataDir, tenant, file)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	isMissing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	switch {
	case isMissing && file == "":
		return noLedger(dataDir, tenant, path)
	case isMissing:
		return fmt.Errorf("--ledger: there is no file %s: name ledger/TENANT/ledger.db of a data directory, or a copy of it", path)
	case err != nil || file == "":
		return nil //nolint:nilerr // the reader reports it
	case info.IsDir():
		return fmt.Errorf("--ledger: %s is a folder: name the ledger.db in it, or the data directory with --data-dir", path)
	case info.Size() == 0 && !hasLog(path):
		return fmt.Errorf("--ledger: %s is an empty file and not a ledger: name ledger/TENANT/ledger.db of a data directory, or a copy of it", path)
	}
	return nil
}

func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

func findBundle(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s: name a bundle, which auditor export writes", path)
	case err != nil:
		return nil //nolint:nilerr // the verification reports it
	case info.IsDir():
		return fmt.Errorf("%s is a folder and not a bundle: name a file of auditor export, or a data directory with --data-dir %[1]s", path)
	case info.Size() == 0:
		return fmt.Errorf("%s is an empty file and not a bundle: copy it again, or write a new one with auditor export", path)
	}
	return nil
}
