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

// FileName is the name of the ledger's file in the folder of a tenant.
const FileName = "ledger.db"

// ErrDamaged means that a ledger does not match its newest checkpoint. Retrying does not help.
var ErrDamaged = errors.New("ledger is not what its newest checkpoint says")

// Path returns the path of the tenant's ledger file below dir.
func Path(dir, tenant string) (string, error) {
	name, err := subjects.FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant id: %w", err)
	}
	return filepath.Join(dir, name, FileName), nil
}

// Tenants returns the sorted tenants that have a ledger below dir. After an error, the list may be
// incomplete.
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

// Refusal wraps err with [ErrDamaged] if err means that the ledger file is damaged. Other errors,
// such as a full disk, stay unchanged, because a retry can succeed.
func Refusal(err error) error {
	if err == nil || errors.Is(err, ErrDamaged) {
		return err
	}
	switch sqlite.ErrCode(err).ToPrimary() { //nolint:exhaustive // only these codes mean damage
	case sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultFormat:
	default:
		if !errors.Is(err, ErrSchema) && !errors.Is(err, errCheckpoint) && !errors.Is(err, ErrNoPayload) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
