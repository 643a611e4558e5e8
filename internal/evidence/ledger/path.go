package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// FileName is the name of a ledger's file in the folder of its tenant.
const FileName = "ledger.db"

// ErrDamaged is wrapped by every refusal to read, or to write to, a ledger that
// is not what its newest checkpoint says. No retry mends it; [verifier.Verify] tells what
// is wrong with it.
var ErrDamaged = errors.New("ledger is not what its newest checkpoint says")

// Path returns the file of a tenant's ledger, dir being the folder of all ledgers.
func Path(dir, tenant string) (string, error) {
	name, err := subjects.FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant id: %w", err)
	}
	return filepath.Join(dir, name, FileName), nil
}

// Tenants lists the tenants whose ledgers lie below dir, sorted. A folder whose
// ledger cannot be read is left out and named in the error.
func Tenants(dir string) (tenants []string, err error) {
	folders, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list ledgers: %w", err)
	}
	for _, f := range folders {
		path := filepath.Join(dir, f.Name(), FileName)
		if _, err := os.Stat(path); !f.IsDir() || err != nil {
			continue
		}
		// A short id can be told from the name, a long one only from the ledger.
		if tenant, err := subjects.ParseToken(f.Name()); err == nil {
			tenants = append(tenants, tenant)
			continue
		}
		r, openErr := OpenReader(path)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		tenants = append(tenants, r.Tenant())
		err = errors.Join(err, r.Close())
	}
	slices.Sort(tenants)
	return tenants, err
}

// Refusal adds [ErrDamaged] to the errors that tell of it in other words. All
// others, such as a full disk, may pass.
func Refusal(err error) error {
	if err == nil || errors.Is(err, ErrDamaged) {
		return err
	}
	switch sqlite.ErrCode(err).ToPrimary() { //nolint:exhaustive // the codes of damage among all there are
	case sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultFormat:
	default:
		if !errors.Is(err, ErrSchema) && !errors.Is(err, errCheckpoint) && !errors.Is(err, ErrNoPayload) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
