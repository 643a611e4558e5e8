package e2e

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// beforeWings is a data directory of commit 81eb007 and the JSON that its commands printed. It has
// two tenants, issues, an erasure, a hold, a rotated key, an edit that no tracker has applied, and
// two events that wait in an outbox. The files below "printed" call the directory DIR.
const beforeWings = "testdata/before-wings.tar.zst"

var printedBy = map[string][]string{
	"verify-acme.json":      {"auditor", "verify", "--tenant", "acme", "--json"},
	"verify-default.json":   {"auditor", "verify", "--tenant", "default", "--json"},
	"runs-acme.json":        {"hooktrail", "run", "list", "--tenant", "acme", "--json"},
	"runs-default.json":     {"hooktrail", "run", "list", "--tenant", "default", "--json"},
	"issues-acme.json":      {"tracker", "list", "--tenant", "acme", "--json"},
	"issues-default.json":   {"tracker", "list", "--tenant", "default", "--json"},
	"coverage-acme.json":    {"auditor", "coverage", "--tenant", "acme", "--json"},
	"coverage-default.json": {"auditor", "coverage", "--tenant", "default", "--json"},
	"holds-acme.json":       {"auditor", "hold", "list", "--tenant", "acme", "--json"},
	"records-acme.jsonl":    {"auditor", "export", "--tenant", "acme", "--format", "jsonl"},
	"records-default.jsonl": {"auditor", "export", "--tenant", "default", "--format", "jsonl"},
}

// A data directory of an older version gives the same results, plus fields that are newer. Its key
// is not pinned, so the user names it.
func TestOlderVersion_SameResults(t *testing.T) {
	t.Setenv("HOOKTRAIL_KNOWN_LEDGERS", filepath.Join(t.TempDir(), "known_ledgers"))
	dir := unpack(t, beforeWings)
	data := filepath.Join(dir, "data")
	// A copy, because the file in the data directory confirms nothing.
	key := filepath.Join(t.TempDir(), ledger.VerifierFile)
	text, err := os.ReadFile(filepath.Join(data, "keys", ledger.VerifierFile))
	if err == nil {
		err = os.WriteFile(key, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range printedBy {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, "printed", name))
			if err != nil {
				t.Fatal(err)
			}
			args := append(slices.Clone(command[1:]), "--data-dir", data)
			if judges := []string{"verify", "coverage"}; slices.Contains(judges, command[1]) {
				run(t, verifier.ExitUnanchored, command[0], args...)
				status := 0
				if name == "verify-acme.json" || name == "coverage-acme.json" {
					status = verifier.ExitIncomplete // because of the two waiting events
				}
				args = append(args, "--key", key)
				got := strings.ReplaceAll(run(t, status, command[0], args...), data, "DIR")
				compareFields(t, want, []byte(got), status)
				return
			}
			got := strings.ReplaceAll(run(t, 0, command[0], args...), data, "DIR")
			if command[1] == "run" {
				compareRuns(t, want, []byte(got))
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", args, diff)
			}
		})
	}
}

// The second verifier agrees about the ledgers of an older version, their runs, and bundles.
//
//guarantee:second-verifier
func TestOlderVersion_SecondVerifier(t *testing.T) {
	second := pyverify.Start(t)
	if second == nil {
		t.Skip("the second verifier cannot run")
	}
	data := filepath.Join(unpack(t, beforeWings), "data")
	key, public, err := ledger.ReadVerifier(filepath.Join(data, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "default"} {
		path := filepath.Join(data, "ledger", tenant, ledger.FileName)
		for _, run := range []string{"", "run-1", "run-2", "none"} {
			r, err := verifier.Verify(t.Context(), path, verifier.Options{Key: key, Run: run})
			if err != nil {
				t.Fatal(err)
			}
			second.Compare(t, pyverify.Request{Path: path, Key: public, Run: run}, r)
		}
	}
}

// compareFields compares the fields that the older version printed. The older version did not count
// waiting events as missing in the ledger.
func compareFields(t *testing.T, want, got []byte, status int) {
	t.Helper()
	var before, now map[string]any
	if err := errors.Join(json.Unmarshal(want, &before), json.Unmarshal(got, &now)); err != nil {
		t.Fatal(err)
	}
	if status != 0 {
		before["completeness"], before["exit"] = "UNPROVEN", float64(status)
	}
	keepFields(before, now)
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// compareRuns compares the fields of the runs that the older version printed. The older version
// counted only the tokens of responses.
func compareRuns(t *testing.T, want, got []byte) {
	t.Helper()
	var before, now []any
	if err := errors.Join(json.Unmarshal(want, &before), json.Unmarshal(got, &now)); err != nil {
		t.Fatal(err)
	}
	keepFields(before, now)
	for i := range min(len(before), len(now)) {
		before, _ := before[i].(map[string]any)
		if now, ok := now[i].(map[string]any); ok && before["responses"] == 0.0 {
			delete(before, "tokens")
			delete(now, "tokens")
		}
	}
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func keepFields(before, now any) {
	switch now := now.(type) {
	case map[string]any:
		before, _ := before.(map[string]any)
		for name := range now {
			if _, ok := before[name]; !ok {
				delete(now, name)
				continue
			}
			keepFields(before[name], now[name])
		}
	case []any:
		before, _ := before.([]any)
		for i := range min(len(before), len(now)) {
			keepFields(before[i], now[i])
		}
	}
}

// Every service resumes on a data directory of an older version.
func TestOlderVersion_ServicesResume(t *testing.T) {
	t.Setenv("HOOKTRAIL_KNOWN_LEDGERS", filepath.Join(t.TempDir(), "known_ledgers"))
	data := filepath.Join(unpack(t, beforeWings), "data")
	in := []string{"--data-dir", data, "--tenant", "acme"}
	run(t, 0, "publisher", append(in, "pipe")...) // sends the two waiting events
	for _, service := range []string{"tracker", "auditor", "metrics"} {
		run(t, 0, service, "serve", "--drain", "--data-dir", data)
	}

	records := run(t, 0, "auditor", append(in, "export", "--format", "jsonl")...)
	for _, id := range []string{"late-1", "late-2"} {
		if !strings.Contains(records, `"id":"`+id+`"`) {
			t.Errorf("event %s did not arrive from the outbox", id)
		}
	}
	if got := run(t, 0, "tracker", append(in, "show", "ht-0mpbesuouwoxo", "--json")...); !strings.Contains(got, `"status": "closed"`) {
		t.Errorf("the edit was not applied:\n%s", got)
	}
	run(t, 1, "auditor", append(in, "erase", "--run", "run-2", "--reason", "held")...)
	if got := run(t, 0, "auditor", append(in, "verify", "--json")...); !strings.Contains(got, `"integrity": "VERIFIED"`) {
		t.Errorf("the ledger does not verify:\n%s", got)
	}
}

func unpack(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		extract(t, filepath.Join(dir, filepath.FromSlash(header.Name)), header, archive)
	}
}

func extract(t *testing.T, path string, header *tar.Header, content io.Reader) {
	t.Helper()
	mode := header.FileInfo().Mode()
	if mode.IsDir() {
		if err := os.MkdirAll(path, mode.Perm()); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode.Perm()); err != nil {
		t.Fatal(err)
	}
}
