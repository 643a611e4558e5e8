package auditor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

func rebuild(tb testing.TB, b *broker.Broker, dir string, from ...string) []auditor.Rebuilt {
	tb.Helper()
	done, err := auditor.Rebuild(auditortest.Deadline(tb), auditor.RebuildOptions{Broker: b, DataDir: dir, From: from})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "rebuild")); !errors.Is(err, os.ErrNotExist) {
		tb.Errorf("the folder of the rebuild is left: %v", err)
	}
	return done
}

//guarantee:rebuild
func TestRebuild_AgentFSAlone(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	files, err := filepath.Glob(filepath.Join(auditor.AgentFSDir(dir), "*__acme.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("agentfs files: got %q, %v", files, err)
	}
	rows, signed := auditortest.AgentRows(t, files[0]), auditortest.Verify(t, dir, "acme").Checkpoint.Note
	if err := os.RemoveAll(auditor.AgentFSDir(dir)); err != nil {
		t.Fatal(err)
	}
	status, out := command(t, "rebuild", "--agentfs-only", "--data-dir", dir, "--json")
	var done []auditor.Rebuilt
	if err := json.Unmarshal([]byte(out), &done); status != 0 || err != nil || len(done) != 1 || done[0].Leaves == 0 {
		t.Errorf("got status %d, %v, %s", status, err, out)
	}
	if diff := cmp.Diff(rows, auditortest.AgentRows(t, files[0])); diff != "" {
		t.Errorf("agentfs rows (-want +got):\n%s", diff)
	}
	if auditortest.Verify(t, dir, "acme").Checkpoint.Note != signed {
		t.Error("the ledger was changed")
	}
}
