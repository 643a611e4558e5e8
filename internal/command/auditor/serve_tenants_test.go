package auditor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// Two processes serve two sets of tenants in one data directory. Each writes only its ledgers. A
// tenant that moves to the other set is not read twice.
//
//guarantee:split-auditors
func TestServe_SeveralTenants(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	for _, tenant := range []string{"acme", "beta", "gamma"} {
		auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder-"+tenant, tenant), "r1", 5)
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
		r := auditortest.Verify(t, dir, tenant)
		auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
		if len(r.Streams) != 1 || r.SeenAgain > 0 {
			t.Errorf("tenant %s: got %+v", tenant, r)
		}
		files, err := filepath.Glob(filepath.Join(auditor.AgentFSDir(dir), "*__"+tenant+".db"))
		if err != nil || len(files) != 1 {
			t.Errorf("agentfs files: got %q, %v", files, err)
		}
	}
	drain(t, b, dir) // an auditor of all tenants resumes at their positions
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "beta"), verifier.Verified, verifier.Complete)
}

func TestServe_InvalidTenants(t *testing.T) {
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
