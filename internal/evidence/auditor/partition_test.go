package auditor

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// One process has a set of tenants, another one another set, on one data
// directory: each writes its own ledgers and nobody else's, and a tenant moves
// from one set to another without being read twice.
func TestServe_SeveralTenants(t *testing.T) {
	s := server(t)
	b, dir := connect(t, s), t.TempDir()
	for _, tenant := range []string{"acme", "beta", "gamma"} {
		publishRun(t, outbox(t, b, "coder-"+tenant, tenant), "r1", 5)
	}
	for _, set := range [][]string{{"acme", "beta"}, {"gamma", "beta"}} {
		args := []string{"serve", "--drain", "--data-dir", dir, "--nats-url", s.URL()}
		for _, tenant := range set {
			args = append(args, "--tenant", tenant)
		}
		status, out := command(t, args...)
		if status != 0 || strings.Count(out, "leaves") != 2 || !strings.Contains(out, set[0]) || !strings.Contains(out, set[1]) {
			t.Errorf("set %q: got status %d, %s", set, status, out)
		}
	}
	for _, tenant := range []string{"acme", "beta", "gamma"} {
		r := verify(t, dir, tenant)
		wantVerdicts(t, r, verifier.Verified, verifier.Complete)
		if len(r.Streams) != 1 || r.SeenAgain > 0 {
			t.Errorf("tenant %s: got %+v", tenant, r)
		}
		files, err := filepath.Glob(filepath.Join(AgentFSDir(dir), "*__"+tenant+".db"))
		if err != nil || len(files) != 1 {
			t.Errorf("agentfs files: got %q, %v", files, err)
		}
	}
	drain(t, b, dir) // and one of all goes on where they were
	wantVerdicts(t, verify(t, dir, "beta"), verifier.Verified, verifier.Complete)
}

func TestServe_TenantsGivenWrongly(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"verify", "--tenant", "acme", "--tenant", "beta"},
		{"serve", "--tenant", "acme", "--tenant", "acme"},
		{"serve", "--tenant", "acme", "--tenant", "beta", "--checkpoint-file", filepath.Join(dir, "one")},
	} {
		if status, _ := command(t, append(args, "--data-dir", dir)...); status != 2 {
			t.Errorf("%q: got status %d, want 2", args, status)
		}
	}
}

// Two sets that overlap: who comes later waits for the tenant that both have, and
// so does one that has all tenants.
func TestRun_TurnsOfTenants(t *testing.T) {
	dir := t.TempDir()
	o := func(tenant string) Options {
		return Options{DataDir: dir, Tenant: tenant, Logger: slog.New(slog.DiscardHandler)}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // who does not get its turn at once does not wait
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
