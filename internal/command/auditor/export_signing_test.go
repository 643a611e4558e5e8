package auditor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// A bundle is complete only if the ledger's key signed its selection.
//
//guarantee:verify-bundle-selection
func TestExport_Signed(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	keys, out := auditor.KeyDir(dir), t.TempDir()
	path := auditortest.LedgerFile(t, dir, "acme")
	public, private := filepath.Join(keys, "ledger.pub"), filepath.Join(out, "key")
	for _, tt := range []struct {
		name  string
		args  []string
		want  int
		notes string
	}{
		{"Here", []string{"--data-dir", dir}, verifier.ExitVerified, ""},
		{"Unsigned", []string{"--data-dir", dir, "--unsigned"}, verifier.ExitIncomplete, ""},
		{"KeyElsewhere", []string{"--data-dir", out, "--ledger", path, "--signing-key", private}, verifier.ExitVerified, ""},
		{"WithoutKey", []string{"--data-dir", out, "--ledger", path, "--key", public}, verifier.ExitIncomplete, "the selection is not signed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(private, auditortest.ReadFile(t, filepath.Join(keys, "ledger.key")), 0o600); err != nil {
				t.Fatal(err)
			}
			zip := filepath.Join(out, tt.name+".zip")
			status, text, notes := commandBoth(t, append([]string{"export", "--tenant", "acme", "--run", "r1", "--out", zip}, tt.args...)...)
			if status != 0 || !strings.Contains(notes, tt.notes) || tt.notes == "" && strings.Contains(notes, "not signed") {
				t.Fatalf("export: status %d, %s%s", status, text, notes)
			}
			status, text = command(t, "verify", "--key", public, zip)
			attested := strings.Contains(text, "Selection:    ATTESTED")
			if status != tt.want || attested != (tt.want == verifier.ExitVerified) || attested == strings.Contains(text, "NOT ATTESTED") {
				t.Errorf("status %d, want %d:\n%s", status, tt.want, text)
			}
		})
	}
	if status, _ := command(t, "export", "--data-dir", dir, "--signing-key", public); status != 1 {
		t.Errorf("a public key as the signing key: status %d", status)
	}
}

func edit(tb testing.TB, dir, statement string) {
	tb.Helper()
	conn, err := sqlite.OpenConn(auditortest.LedgerFile(tb, dir, "acme"), sqlite.OpenReadWrite)
	if err == nil {
		err = errors.Join(sqlitex.ExecuteTransient(conn, statement, nil), conn.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Export does not sign an edited ledger.
//
//guarantee:verify-bundle-selection
func TestExport_EditedLedger(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	edit(t, dir, "UPDATE leaves SET stored = stored + 1 WHERE leaf = 3")
	zip := filepath.Join(t.TempDir(), "r1.zip")
	at := []string{"export", "--data-dir", dir, "--tenant", "acme", "--run", "r1", "--out", zip}
	status, _, errs := commandBoth(t, at...)
	if status != verifier.ExitInvalid || !strings.Contains(errs, "INVALID") {
		t.Errorf("status %d: %s", status, errs)
	}
	if _, err := os.Stat(zip); err == nil {
		t.Error("there is a bundle")
	}
	if status, _ := command(t, append(at, "--unsigned")...); status != verifier.ExitInvalid {
		t.Errorf("unsigned: status %d", status)
	}
	if _, err := os.Stat(zip); err != nil {
		t.Errorf("--unsigned wrote no bundle: %v", err)
	}
}

// verify can judge one run, or a range of time.
//
//guarantee:verify-run
func TestVerify_Run(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p, q := auditortest.Outbox(t, b, "coder", "acme"), auditortest.Outbox(t, b, "tester", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	auditortest.PublishRun(t, q, "r2", 5)
	if err := auditortest.EventStream(t, b).DeleteMsg(auditortest.Deadline(t), 3); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	for _, tt := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"All", nil, verifier.ExitIncomplete, "GAPS (1)"},
		{"RunWithGap", []string{"--run", "r1"}, verifier.ExitIncomplete, "GAPS (1)"},
		{"Run", []string{"--run", "r2"}, verifier.ExitVerified, "Only:         run r2: completeness is about nothing else"},
		{"NoRun", []string{"--run", "r9"}, 1, `run "r9" is not in the ledger`},
		{"Time", []string{"--from", "2020-01-01"}, verifier.ExitIncomplete, "stored from 2020-01-01T00:00:00Z"},
		{"NoTime", []string{"--to", "2020-01-01"}, verifier.ExitVerified, "EMPTY        the ledger has no events of that time"},
		{"BadTime", []string{"--to", "yesterday"}, 2, "--to"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := commandBoth(t, append([]string{"verify", "--data-dir", dir, "--tenant", "acme"}, tt.args...)...)
			if status != tt.want || !strings.Contains(out+errs, tt.says) {
				t.Errorf("status %d, want %d and %q:\n%s%s", status, tt.want, tt.says, out, errs)
			}
		})
	}
	for run, want := range map[string]verifier.Completeness{"r1": verifier.Gaps, "r2": verifier.Complete} {
		zip := filepath.Join(t.TempDir(), run+".zip")
		command(t, "export", "--data-dir", dir, "--tenant", "acme", "--run", run, "--out", zip)
		_, text := command(t, "verify", "--data-dir", dir, "--json", zip)
		var r bundle.Report
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Completeness != want {
			t.Errorf("the bundle of %s: %s, %v", run, r.Completeness, err)
		}
	}
}
