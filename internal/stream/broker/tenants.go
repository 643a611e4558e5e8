package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// TenantKey is a public key with which engines of a tenant log in. Later versions may add fields
// but never rename them.
type TenantKey struct {
	Tenant  string    `json:"tenant"`
	Key     string    `json:"key"`
	Created time.Time `json:"created"`
}

// ErrNoKey means that a tenant does not have the key.
var ErrNoKey = errors.New("there is no such key")

func tenantDir(dir string) string { return filepath.Join(dir, "tenants") }

const tenantEnding = ".json"

// AddTenant creates a key for engines of a tenant. The returned seed is the private key, which is
// not stored.
func AddTenant(dataDir, tenant string) (k TenantKey, seed []byte, err error) {
	if tenant == "" {
		return TenantKey{}, nil, errors.New("tenant: empty")
	}
	if _, err := subjects.Token(tenant); err != nil {
		return TenantKey{}, nil, fmt.Errorf("tenant: %w", err)
	}
	public, seed, err := newKey()
	if err != nil {
		return TenantKey{}, nil, err
	}
	k = TenantKey{Tenant: tenant, Key: public, Created: time.Now().UTC().Truncate(time.Second)}
	data, err := json.Marshal(k)
	if err != nil {
		return TenantKey{}, nil, fmt.Errorf("key of tenant %q: %w", tenant, err)
	}
	dir := tenantDir(filepath.Join(dataDir, "nats"))
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = atomicfile.Write(filepath.Join(dir, public+tenantEnding), append(data, '\n'))
	}
	if err != nil {
		return TenantKey{}, nil, fmt.Errorf("key of tenant %q: %w", tenant, err)
	}
	return k, seed, nil
}

// Tenants returns the engine keys in a data directory, sorted by tenant and age. The error names
// the files without a valid key.
func Tenants(dataDir string) ([]TenantKey, error) {
	dir := filepath.Join(dataDir, "nats")
	files, err := os.ReadDir(tenantDir(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keys of tenants: %w", err)
	}
	var (
		keys []TenantKey
		errs []error
	)
	for _, f := range files {
		public, ok := strings.CutSuffix(f.Name(), tenantEnding)
		if !ok {
			continue
		}
		if k, err := readTenant(dir, public); err != nil {
			errs = append(errs, err)
		} else {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b TenantKey) int {
		if c := strings.Compare(a.Tenant, b.Tenant); c != 0 {
			return c
		}
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	return keys, errors.Join(errs...)
}

func readTenant(dir, public string) (TenantKey, error) {
	if !nkeys.IsValidPublicUserKey(public) {
		return TenantKey{}, fmt.Errorf("key of a tenant: %w", ErrNoKey)
	}
	path := filepath.Join(tenantDir(dir), public+tenantEnding)
	data, err := os.ReadFile(path)
	if err != nil {
		return TenantKey{}, fmt.Errorf("key of a tenant: %w", err)
	}
	var k TenantKey
	if err := json.Unmarshal(data, &k); err != nil {
		return TenantKey{}, fmt.Errorf("key of a tenant: %s: %w", path, err)
	}
	if k.Key != public || k.Tenant == "" {
		return TenantKey{}, fmt.Errorf("key of a tenant: %s contains another key", path)
	}
	if _, err := subjects.Token(k.Tenant); err != nil {
		return TenantKey{}, fmt.Errorf("key of a tenant: %s: tenant: %w", path, err)
	}
	return k, nil
}

// RemoveTenant removes one key of a tenant, or all its keys if key is empty. A running server soon
// disconnects the clients that use a removed key.
func RemoveTenant(dataDir, tenant, key string) ([]TenantKey, error) {
	keys, err := Tenants(dataDir)
	keys = slices.DeleteFunc(keys, func(k TenantKey) bool {
		return k.Tenant != tenant || key != "" && k.Key != key
	})
	switch {
	case len(keys) == 0 && err != nil:
		return nil, err
	case len(keys) == 0 && key != "":
		return nil, fmt.Errorf("tenant %q, key %s: %w", tenant, key, ErrNoKey)
	case len(keys) == 0:
		return nil, fmt.Errorf("tenant %q: %w", tenant, ErrNoKey)
	}
	for i, k := range keys {
		if err := os.Remove(filepath.Join(tenantDir(filepath.Join(dataDir, "nats")), k.Key+tenantEnding)); err != nil {
			return keys[:i], fmt.Errorf("key of tenant %q: %w", tenant, err)
		}
	}
	return keys, nil
}
