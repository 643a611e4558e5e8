package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestCommand_AgentFS(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	auditortest.PublishRun(t, p, "r2", 5)
	drain(t, b, dir)
	list := func(args ...string) (files []agentfsFile) {
		t.Helper()
		status, text := command(t, append([]string{"agentfs"}, append(args, "--data-dir", dir, "--tenant", "acme", "--json")...)...)
		if err := json.Unmarshal([]byte(text), &files); err != nil || status != 0 {
			t.Fatalf("%v: status %d, %v:\n%s", args, status, err, text)
		}
		return files
	}
	files := list("list", "--run", "r2")
	if len(files) != 1 || files[0].Calls == 0 || files[0].Own != 0 || files[0].Part != 1 || files[0].Path != filepath.Join(auditor.AgentFSDir(dir), files[0].ID+".db") {
		t.Fatalf("got %+v, want the one file", files)
	}
	out := filepath.Join(t.TempDir(), ".agentfs")
	copies := list("export", files[0].ID, "--out", out, "--reason", "review", "--by", "jdoe")
	want := files
	want[0].Path, want[0].Bytes = filepath.Join(out, files[0].ID+".db"), copies[0].Bytes
	if diff := cmp.Diff(want, copies); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(copies[0].Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("copy: got %v %v, want it for its owner alone", info, err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"AlreadyThere", []string{"export", "--out", out}, 1},
		{"OtherID", []string{"export", "nobody__acme", "--out", t.TempDir()}, 1},
		{"OtherRun", []string{"list", "--run", "none"}, 1},
		{"SameIDTwice", []string{"export", files[0].ID, files[0].ID, "--out", t.TempDir()}, 0},
		{"NoFolder", []string{"export"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"agentfs"}, append(tt.args, "--data-dir", dir, "--tenant", "acme")...)
			if status, text := command(t, args...); status != tt.want {
				t.Errorf("got status %d, want %d:\n%s", status, tt.want, text)
			}
		})
	}
	drain(t, b, dir)
	accessed := 0
	r, err := ledger.OpenTenant(auditor.LedgerDir(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.After(auditortest.Deadline(t), -1) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == events.AuditAccessed && strings.Contains(string(e.Bytes), `"as":"agentfs"`) && strings.Contains(string(e.Bytes), `"by":"jdoe"`) {
			accessed++
		}
	}
	if accessed != 1 {
		t.Errorf("got %d records of the export, want 1", accessed)
	}
}

func TestCommand_AgentFSUnknownTenant(t *testing.T) {
	if status, text := command(t, "agentfs", "list", "--data-dir", t.TempDir()); status != 1 {
		t.Errorf("where there is no ledger: got status %d, want 1:\n%s", status, text)
	}
}

func TestCommand_AgentFSUnreadableFile(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	broken := filepath.Join(auditor.AgentFSDir(dir), "0broken__acme.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	at := []string{"--data-dir", dir, "--tenant", "acme"}
	_, text := command(t, append([]string{"agentfs", "list", "--json"}, at...)...)
	var files []agentfsFile
	if err := json.Unmarshal([]byte(text), &files); err != nil || len(files) != 2 || files[0].Calls != -1 || files[0].Own != -1 || files[1].Calls <= 0 {
		t.Errorf("got %v, %s, want the calls of the second alone", err, text)
	}
	if _, text = command(t, append([]string{"agentfs", "list"}, at...)...); strings.Contains(text, " 0 calls") || strings.Contains(text, "-1") {
		t.Errorf("it says how many calls nobody can count:\n%s", text)
	}
	out := t.TempDir()
	if status, text := command(t, append([]string{"agentfs", "export", "--out", out}, at...)...); status != 1 || !strings.Contains(text, files[1].ID) {
		t.Errorf("got status %d, want 1, and the other file copied:\n%s", status, text)
	}
	if copies, err := os.ReadDir(out); err != nil || len(copies) != 1 || copies[0].Name() != files[1].ID+".db" {
		t.Errorf("copies: got %v %v, want that of %s", copies, err, files[1].ID)
	}
}
