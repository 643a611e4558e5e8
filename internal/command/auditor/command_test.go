package auditor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestCommand_VerifyOffline(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	drain(t, b, dir)
	away := t.TempDir()
	public := auditortest.ReadFile(t, filepath.Join(auditor.KeyDir(dir), "ledger.pub"))
	file := filepath.Join(away, "evidence.db")
	if err := os.WriteFile(file, auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "acme")), 0o400); err != nil {
		t.Fatal(err)
	}
	offline := []string{"verify", "--ledger", file, "--data-dir", away, "--key", strings.TrimSpace(string(public))}
	status, text := command(t, append(offline, "--json")...)
	var report verifier.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 0 || report.Tenant != "acme" {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	trusted := filepath.Join(away, "trusted")
	if err := os.WriteFile(trusted, []byte(report.Checkpoint.Note), 0o600); err != nil {
		t.Fatal(err)
	}
	auditortest.PublishRun(t, p, "r2", 5)
	drain(t, b, dir)
	at := []string{"verify", "--data-dir", dir, "--tenant", "acme"}
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"Trusted", append(at, "--trusted", trusted, "--require-trusted"), verifier.ExitVerified},
		{"NoTrusted", append(at, "--require-trusted"), verifier.ExitUntrusted},
		{"NoTrustedFile", append(at, "--trusted", filepath.Join(away, "none")), 1},
		{"OtherTenant", append(offline, "--tenant", "other"), verifier.ExitInvalid},
		{"NoLedger", []string{"verify", "--data-dir", dir, "--tenant", "nobody"}, 1},
		{"BadKey", []string{"verify", "--data-dir", dir, "--key", "x"}, 2},
		{"BadFlag", []string{"verify", "--nonsense"}, 2},
		{"NoRun", []string{"replay", "--data-dir", dir, "--tenant", "acme", "--run", "none"}, 1},
		{"RunMissing", []string{"replay", "--data-dir", dir}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if status, text := command(t, tt.args...); status != tt.want {
				t.Errorf("got status %d, want %d:\n%s", status, tt.want, text)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(away, "nats")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("verify made something in the data directory: %v", err)
	}
}

// Replayed events go through a second pipeline and give the same run.
func TestCommand_ReplayGivesTheSameRun(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 30)
	drain(t, b, dir)
	status, text := command(t, "replay", "--data-dir", dir, "--tenant", "acme", "--run", "r1")
	if status != 0 {
		t.Fatal(status)
	}
	second, copied := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, second, "pipe", "acme")
	for line := range strings.Lines(text) {
		e, err := events.Decode([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, second, copied)
	auditortest.WantVerdicts(t, auditortest.Verify(t, copied, "acme"), verifier.Verified, verifier.Complete)
	want, got := summary(t, dir), summary(t, copied)
	got.Events, got.Kinds[events.RunSealed] = got.Events-1, 1 // the second pipeline adds a seal
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

func summary(tb testing.TB, dir string) ledger.RunSummary {
	tb.Helper()
	r, err := ledger.OpenReader(auditortest.LedgerFile(tb, dir, "acme"))
	if err != nil {
		tb.Fatal(err)
	}
	s, err := r.Summary(tb.Context(), "r1")
	if err = errors.Join(err, r.Close()); err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestCommand_LedgersSwapped(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "secret", 1)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "tester", "other"), "r1", 1)
	drain(t, b, dir)
	auditortest.Overwrite(string(auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "acme"))))(t, auditortest.LedgerFile(t, dir, "other"))
	if status, text := command(t, "replay", "--data-dir", dir, "--tenant", "other", "--run", "secret"); status != 1 || text != "" {
		t.Errorf("replay: got status %d, want 1:\n%s", status, text)
	}
	if status, _ := command(t, "verify", "--data-dir", dir, "--tenant", "other"); status != verifier.ExitInvalid {
		t.Errorf("verify: got status %d, want %d", status, verifier.ExitInvalid)
	}
}
