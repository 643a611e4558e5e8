package auditor

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Rebuilt files do not have erased payloads, although the stream still does.
//
//guarantee:rebuild
func TestRebuild_ShowsNothingErased(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.AppendEvent(t, p, "secret", events.ToolBefore, "c1", events.ToolBeforeData{Tool: "Bash", Args: []byte(`{"command":"opensesame"}`)})
	auditortest.PublishRun(t, p, "r1", 3)
	drain(t, b, dir)
	status, out := command(t, "erase", "--run", "secret", "--reason", "asked for", "--by", "jdoe",
		"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	if status != 0 {
		t.Fatalf("erase: got status %d, %s", status, out)
	}
	before := auditortest.Verify(t, dir, "acme")
	rebuild(t, b, dir)
	after := auditortest.Verify(t, dir, "acme")
	if after.Integrity != verifier.Verified || after.Checkpoint.Root != before.Checkpoint.Root {
		t.Errorf("got %s and root %s, want root %s: %v", after.Integrity, after.Checkpoint.Root, before.Checkpoint.Root, after.Problems)
	}
	for path, content := range auditortest.Contents(t, dir) {
		if strings.Contains(content, "opensesame") && (strings.HasPrefix(path, "ledger/") || strings.HasPrefix(path, "agentfs/")) {
			t.Errorf("%s has what was erased", path)
		}
	}
}
