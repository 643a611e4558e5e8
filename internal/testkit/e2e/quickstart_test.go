package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// The README shows examples/quickstart. It compiles, and its events reach the ledger.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	program, err := os.ReadFile(filepath.Join(root, "examples", "quickstart", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Error("the Go block of README.md is not examples/quickstart/main.go")
	}

	server := natstest.Listen(t, t.TempDir())
	binary := filepath.Join(t.TempDir(), "quickstart")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./examples/quickstart")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "NATS_URL="+server.URL())
	out, err := cmd.CombinedOutput()
	want := "success \"done\"  false\nerror  this run may not remove files true\n"
	if err != nil || string(out) != want {
		t.Fatalf("got %v and %q, want %q", err, out, want)
	}
	data := t.TempDir()
	run(t, 0, "auditor", "serve", "--drain", "--nats-url", server.URL(), "--data-dir", data)
	records := run(t, 0, "auditor", "export", "--tenant", "acme", "--format", "jsonl", "--data-dir", data)
	for _, kind := range []string{"run.started", "tool.before", "tool.result", "run.finished"} {
		if !strings.Contains(records, `"hooktrail.`+kind+`"`) {
			t.Errorf("no %s in the ledger", kind)
		}
	}
}
