package auditor

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

//guarantee:split-auditors
func TestRun_TurnsOfTenants(t *testing.T) {
	dir := t.TempDir()
	o := func(tenant string) Options {
		return Options{DataDir: dir, Tenant: tenant, Logger: slog.New(slog.DiscardHandler)}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // acquire returns at once if the lock is taken
	acme, err := acquire(t.Context(), o("acme"))
	if err != nil {
		t.Fatal(err)
	}
	beta, err := acquire(t.Context(), o("beta"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "beta", ""} {
		if _, err := acquire(ended, o(tenant)); !errors.Is(err, filelock.ErrHeld) {
			t.Errorf("tenant %q: got %v, want %v", tenant, err, filelock.ErrHeld)
		}
	}
	if err := acme.Unlock(); err != nil {
		t.Fatal(err)
	}
	if acme, err = acquire(t.Context(), o("acme")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(acme.Unlock(), beta.Unlock()); err != nil {
		t.Fatal(err)
	}
	all, err := acquire(t.Context(), o(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acquire(ended, o("acme")); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("beside one of all tenants: got %v, want %v", err, filelock.ErrHeld)
	}
	if err := all.Unlock(); err != nil {
		t.Fatal(err)
	}
}
