package auditor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A mistake in the command line is not reported as damaged evidence.
func TestVerify_Mistakes(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 2)
	e := auditortest.AppendEvent(t, p, "r1", "custom", "", nil).ID
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	bundle, proof := filepath.Join(t.TempDir(), "r1.zip"), filepath.Join(t.TempDir(), "proof")
	for _, args := range [][]string{{"export", "--run", "r1", "--out", bundle}, {"proof", e, "--out", proof}} {
		if status, text := command(t, append(args, "--data-dir", dir, "--tenant", "acme")...); status != 0 {
			t.Fatalf("%v: status %d:\n%s", args, status, text)
		}
	}
	other, err := writer.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	signer, _, err := ledger.ReadVerifier(auditor.KeyDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half.zip")
	if err := os.WriteFile(half, auditortest.ReadFile(t, bundle)[:1000], 0o600); err != nil {
		t.Fatal(err)
	}
	// The variable is for auditor serve and for verify of a ledger.
	t.Setenv("HOOKTRAIL_CHECKPOINT_FILE", filepath.Join(t.TempDir(), "{tenant}.checkpoint"))
	for _, tt := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"Bundle", []string{bundle}, 0, "run r1 of tenant acme"},
		{"BundleAndCheckpointFile", []string{bundle, "--checkpoint-file", bundle}, 2, "not for a bundle"},
		{"BundleAndMaxAge", []string{bundle, "--max-age", "1d"}, 2, "--max-age is not for a bundle, which does not change"},
		{"BundleAndRun", []string{bundle, "--run", "r1"}, 2, "auditor export --run selects"},
		{"NoBundle", []string{filepath.Join(dir, "keys", "ledger.pub")}, 1, "is not a bundle, which is a zip file of auditor export"},
		{"HalfABundle", []string{half}, 40, "INVALID"},
		{"LedgerAsBundle", []string{auditortest.LedgerFile(t, dir, "acme")}, 2, "--ledger"},
		{"ProofAsBundle", []string{proof}, 2, "--proof"},
		{"OtherKey", []string{"--proof", proof, "--key", other.Public()}, 40, "it is signed by " + ledger.KeyID(signer)},
		{"OtherKeyOfBundle", []string{bundle, "--key", other.Public()}, 40, "it is signed by " + ledger.KeyID(signer)},
		{"NoTenant", nil, 1, `--tenant can be "acme"`},
		{"Untrusted", []string{"--tenant", "acme", "--require-trusted"}, verifier.ExitUntrusted, "Trusted:      NOT FOUND"},
		{"UntrustedBundle", []string{bundle, "--require-trusted"}, verifier.ExitUntrusted, "Trusted:      NOT FOUND"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := commandBoth(t, append([]string{"verify", "--data-dir", dir}, tt.args...)...)
			if status != tt.want || !strings.Contains(out+errs, tt.says) {
				t.Errorf("got status %d, want %d and %q:\n%s%s", status, tt.want, tt.says, out, errs)
			}
		})
	}
	status, _, errs := commandBoth(t, "proof", "none", "--bundle", bundle, "--data-dir", dir)
	if status != 1 || !strings.Contains(errs, `event "none" is not in bundle`) {
		t.Errorf("proof of what the bundle has not: got status %d:\n%s", status, errs)
	}
	before := string(auditortest.ReadFile(t, bundle))
	if status, _ := command(t, "proof", e, "--data-dir", dir, "--tenant", "acme", "--out", bundle); status != 1 || string(auditortest.ReadFile(t, bundle)) != before {
		t.Errorf("a proof over what is there: got status %d", status)
	}
}

func TestPrintReport_KeyOrderAlone(t *testing.T) {
	for action, want := range map[events.AuditAction]bool{events.AuditKey: false, events.AuditHold: true} {
		var out strings.Builder
		PrintReport(&out, verifier.Report{Redacted: verifier.Redacted{Orders: []verifier.OrderAt{{Action: action}}}})
		if got := strings.Contains(out.String(), "Redacted:"); got != want {
			t.Errorf("%s: got %t, want %t:\n%s", action, got, want, out.String())
		}
	}
}
