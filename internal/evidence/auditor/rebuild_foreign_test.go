package auditor

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
)

// Nothing is replaced. The next rebuild copies the new rows, even if the file was read
// meanwhile.
//
//guarantee:rebuild
func TestRebuild_ToolWritesMeanwhile(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	files, err := filepath.Glob(filepath.Join(AgentFSDir(dir), "*__acme.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("agentfs files: got %q, %v", files, err)
	}
	edit(`INSERT INTO kv_store (key, value) VALUES ('theirs', '"kept"')`)(t, files[0])
	var want []string
	atTheEnd := func(act func()) RebuildOptions {
		return RebuildOptions{DataDir: dir, AgentFS: true, Progress: func(what string, done, total uint64) {
			if what == "agentfs" && done == total {
				act()
			}
		}}
	}
	_, err = Rebuild(auditortest.Deadline(t), atTheEnd(func() {
		edit(`INSERT INTO tool_calls (name, status, started_at) VALUES ('theirs', 'pending', 7)`)(t, files[0])
		want = auditortest.AgentRows(t, files[0])
	}))
	if !errors.Is(err, agentfs.ErrChanged) {
		t.Errorf("got %v, want %v", err, agentfs.ErrChanged)
	}
	if diff := cmp.Diff(want, auditortest.AgentRows(t, files[0])); diff != "" || len(want) == 0 {
		t.Errorf("rows afterwards (-want +got):\n%s", diff)
	}
	if _, err := Rebuild(auditortest.Deadline(t), atTheEnd(func() { auditortest.AgentRows(t, files[0]) })); err != nil {
		t.Errorf("when nobody writes: %v", err)
	}
	if diff := cmp.Diff(want, auditortest.AgentRows(t, files[0])); diff != "" {
		t.Errorf("rows rebuilt (-want +got):\n%s", diff)
	}
}
