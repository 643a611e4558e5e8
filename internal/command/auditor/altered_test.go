package auditor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

func alteredLedger(t *testing.T) (dir, id string) {
	t.Helper()
	dir = t.TempDir()
	key, err := writer.OpenKey(auditor.KeyDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	f := ledgertest.NewFeed("acme")
	f.Run("p", "r1", 3)
	path := ledgertest.Write(t, auditor.LedgerDir(dir), key, f, 40)
	entries := ledgertest.Leaves(t, path)
	to, ok := ledgertest.Attack(t, path, `UPDATE payloads SET bytes = CAST(replace(bytes, 'echo 1', 'echo 7') AS BLOB) WHERE leaf = 3`)
	if !ok {
		t.Fatal("SQLite refused the attack")
	}
	if err := os.Rename(to, path); err != nil {
		t.Fatal(err)
	}
	return dir, entries[3].ID
}

//guarantee:readers-check
func TestReaders_EndAtAnAlteredRecord(t *testing.T) {
	dir, id := alteredLedger(t)
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"Replay", []string{"replay", "--run", "r1"}},
		{"ReplayTime", []string{"replay", "--from", "2020-01-01"}},
		{"Bundle", []string{"export", "--unsigned", "--run", "r1", "--out", filepath.Join(t.TempDir(), "b.zip")}},
		{"JSONL", []string{"export", "--format", "jsonl"}},
		{"CSV", []string{"export", "--format", "csv"}},
		{"Parquet", []string{"export", "--format", "parquet", "--out", filepath.Join(t.TempDir(), "b.parquet")}},
		{"Tiles", []string{"export", "--format", "tiles", "--out", filepath.Join(t.TempDir(), "log")}},
		{"Proof", []string{"proof", id}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := commandBoth(t, append(tt.args, "--data-dir", dir, "--tenant", "acme")...)
			if status != verifier.ExitInvalid || !strings.Contains(errs, "leaf 3") || !strings.Contains(errs, id) {
				t.Errorf("status %d, said %q", status, errs)
			}
			if strings.Contains(out, "echo 7") || strings.Contains(out, "echo 2") {
				t.Errorf("printed the altered record or a later one:\n%s", out)
			}
		})
	}
	if status, _, errs := commandBoth(t, "replay", "--run", "r1", "--data-dir", dir, "--tenant", "acme"); strings.Contains(errs, "echo") || status == 0 {
		t.Errorf("payload text in an error: %q", errs)
	}
}

// A reader of a part of the ledger also notices that a leaf is missing.
//
//guarantee:readers-check
func TestReaders_EndAtAMissingLeaf(t *testing.T) {
	for name, gone := range map[string]string{"InTheMiddle": "leaf = 3", "AtTheEnd": "leaf > 3"} {
		dir := t.TempDir()
		key, err := writer.OpenKey(auditor.KeyDir(dir))
		if err != nil {
			t.Fatal(err)
		}
		f := ledgertest.NewFeed("acme")
		f.Run("p", "r1", 3)
		path := ledgertest.Write(t, auditor.LedgerDir(dir), key, f, 40)
		to, ok := ledgertest.Attack(t, path, "DELETE FROM leaves WHERE "+gone, "DELETE FROM payloads WHERE "+gone)
		if !ok {
			t.Fatal("SQLite refused the attack")
		}
		if err := os.Rename(to, path); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"export", "--format", "jsonl"},
			{"export", "--format", "csv"},
			{"export", "--format", "csv", "--run", "r1"},
			{"export", "--format", "ocsf"},
			{"export", "--format", "parquet", "--out", filepath.Join(t.TempDir(), "b.parquet")},
			{"export", "--unsigned", "--out", filepath.Join(t.TempDir(), "b.zip")},
			{"export", "--format", "tiles", "--out", filepath.Join(t.TempDir(), "log")},
			{"replay", "--run", "r1"},
			{"replay", "--from", "2020-01-01"},
			{"stream", "--once"},
			{"stream", "--once", "--format", "ocsf", "--to", "file:" + filepath.Join(t.TempDir(), "log")},
		} {
			t.Run(name+strings.Join(args[:2], ""), func(t *testing.T) {
				status, out, errs := commandBoth(t, append(args, "--data-dir", dir, "--tenant", "acme")...)
				if status != verifier.ExitInvalid || args[1] != "--unsigned" && out != "" {
					t.Errorf("status %d, %d lines, said %q", status, strings.Count(out, "\n"), errs)
				}
			})
		}
	}
}
