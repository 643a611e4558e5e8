package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// Of concurrent imports into one data directory, that with the broker ends first. The others take
// over the broker and finish.
//
//guarantee:server-ends
func TestImportsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{"tool_heavy.jsonl", "short.jsonl", "subagent.jsonl", "ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl"}
	var imports []*process
	for _, name := range files {
		imports = append(imports, start(t, nil, "publisher", "import", "--data-dir", dir, "--tenant", fmt.Sprint("t", len(imports)),
			realdata.Path(t, "claude-code", "marot-spotter", name)))
	}
	for _, p := range slices.Backward(imports) {
		if got := p.status(t); got != 0 {
			t.Errorf("%v: exit status %d; stderr:\n%s", p.cmd.Args[1:], got, p.stderr.String())
		}
	}
	drain(t, dir)
	for i := range files {
		run(t, 0, "auditor", "verify", "--data-dir", dir, "--tenant", fmt.Sprint("t", i))
	}
}
