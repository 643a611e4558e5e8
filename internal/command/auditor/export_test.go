package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

//guarantee:bundle
func TestExport_BundleVerifiesOffline(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 20)
	auditortest.PublishRun(t, p, "r2", 3)
	drain(t, b, dir)
	away := t.TempDir()
	key := filepath.Join(away, "key")
	if err := os.WriteFile(key, auditortest.ReadFile(t, filepath.Join(auditor.KeyDir(dir), "ledger.pub")), 0o600); err != nil {
		t.Fatal(err)
	}
	at := []string{"export", "--data-dir", dir, "--tenant", "acme"}
	one, all := filepath.Join(away, "r1.zip"), filepath.Join(away, "all.zip")
	for _, args := range [][]string{{"--run", "r1", "--out", one}, {"--out", all}} {
		if status, text := command(t, append(at, args...)...); status != 0 || text != "" {
			t.Fatalf("export %v: status %d, %q", args, status, text)
		}
	}
	if info, err := os.Stat(one); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle: %v, %v", info, err)
	}
	if status, text := command(t, append(at, "--run", "r1")...); status != 0 || text != string(auditortest.ReadFile(t, one)) {
		t.Errorf("the same to stdout: status %d, %d bytes", status, len(text))
	}
	if err := os.RemoveAll(dir); err != nil { // only the bundle and the key are left
		t.Fatal(err)
	}
	verify, none := []string{"verify", "--data-dir", away, "--json"}, filepath.Join(away, "none")
	for _, tt := range []struct {
		name   string
		args   []string
		want   int
		ownKey bool
	}{
		{"Run", []string{one, "--key", key}, verifier.ExitVerified, false},
		{"All", []string{all, "--key", key, "--tenant", "acme"}, verifier.ExitVerified, false},
		{"Pinned", []string{one}, verifier.ExitVerified, false},
		{"OwnKey", []string{one, "--known-ledgers", none}, verifier.ExitUnanchored, true},
		{"OtherTenant", []string{one, "--key", key, "--tenant", "other"}, verifier.ExitInvalid, false},
		{"NoTrusted", []string{one, "--key", key, "--require-trusted"}, verifier.ExitUntrusted, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, text := command(t, append(verify, tt.args...)...)
			var report bundle.Report
			if err := json.Unmarshal([]byte(text), &report); err != nil || status != tt.want || report.OwnKey != tt.ownKey {
				t.Errorf("status %d, own key %t, %v:\n%s", status, report.OwnKey, err, text)
			}
		})
	}
	status, text := command(t, "verify", "--data-dir", away, one, "--known-ledgers", none)
	if status != verifier.ExitUnanchored || !strings.Contains(text, "run r1 of tenant acme: ") || !strings.Contains(text, "\nAnchor:       NONE ") {
		t.Errorf("status %d:\n%s", status, text)
	}
	if status, _ := command(t, "verify", "--data-dir", away, filepath.Join(away, "none.zip")); status != 1 {
		t.Errorf("no such bundle: status %d", status)
	}
	if status, _ := command(t, "verify", one, "--ledger", one); status != 2 {
		t.Errorf("a bundle and a ledger: status %d", status)
	}
}

func TestExport_Tables(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 2)
	drain(t, b, dir)
	at := []string{"export", "--data-dir", dir, "--tenant", "acme"}
	out := filepath.Join(t.TempDir(), "out")
	for _, tt := range []struct {
		name  string
		args  []string
		want  int
		lines int
	}{
		{"JSONL", []string{"--format", "jsonl", "--run", "r1"}, 0, 7},
		{"CSV", []string{"--format", "csv", "--run", "r1"}, 0, 8},
		{"File", []string{"--format", "csv", "--out", out}, 0, 0},
		{"FileIsThere", []string{"--format", "csv", "--out", out}, 1, 0},
		{"NoFolder", []string{"--format", "csv", "--out", filepath.Join(out, "x")}, 1, 0},
		{"Parquet", []string{"--format", "parquet", "--out", out + ".parquet"}, 0, 0},
		{"NoFormat", []string{"--format", "xml"}, 2, 0},
		{"NoRun", []string{"--run", "none"}, 1, 0},
		{"NoKey", []string{"--key", "x"}, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, text := command(t, append(at, tt.args...)...)
			if n := strings.Count(text, "\n"); status != tt.want || n != tt.lines {
				t.Errorf("status %d, %d lines, want %d and %d", status, n, tt.want, tt.lines)
			}
		})
	}
	entries, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(entries) != 2 {
		t.Errorf("beside the file lies something: %v, %v", entries, err)
	}
}
