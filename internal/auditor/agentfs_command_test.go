package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestCommand_AgentFS(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 5)
	publishRun(t, p, "r2", 5)
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
	if len(files) != 1 || files[0].Calls == 0 || files[0].Own != 0 || files[0].Part != 1 || files[0].Path != filepath.Join(AgentFSDir(dir), files[0].ID+".db") {
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
	r, err := ledger.OpenTenant(LedgerDir(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.After(deadline(t), -1) {
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
