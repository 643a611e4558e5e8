package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An interrupted import of a growing session exits cleanly. The ledger has all events so far, and
// the run is finished.
func TestFollow(t *testing.T) {
	i := slices.IndexFunc(oracles(t), func(o oracle) bool { return strings.Contains(o.File, "growing") })
	session, err := os.ReadFile(path(t, oracles(t)[i]))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(session), "\n")
	dir, folder := t.TempDir(), t.TempDir()
	file := filepath.Join(folder, "full.jsonl")
	write := func(n int) {
		if err := os.WriteFile(file, []byte(strings.Join(lines[:n], "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(len(lines) / 2)
	p := start(t, nil, "publisher", "import", "--follow", "--json", "--data-dir", dir, folder)
	waitUntil(t, "the import's outbox", func() bool {
		_, err := os.Stat(filepath.Join(dir, "outbox", "import"))
		return err == nil
	})
	write(len(lines))
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := p.status(t); got != 0 {
		t.Fatalf("got exit status %d; stderr:\n%s", got, p.stderr.String())
	}
	var sum publisher.ImportSummary
	if err := json.Unmarshal([]byte(p.stdout.String()), &sum); err != nil {
		t.Fatal(err)
	}
	if len(sum.Runs) != 1 || sum.Malformed != 0 || sum.New == 0 {
		t.Errorf("got runs %q, %+v and %d malformed lines, want one whole run", sum.Runs, sum.Counts, sum.Malformed)
	}
	drain(t, dir)
	run(t, 0, "auditor", "verify", "--data-dir", dir)
	got := summaries(t, dir, "default")
	for _, s := range got {
		if !s.Sealed || s.Kinds[events.RunFinished] != 1 {
			t.Errorf("got %+v, want a run that was finished once and sealed", s)
		}
	}
	if len(got) != 1 {
		t.Errorf("got %d runs, want 1", len(got))
	}
	var again publisher.ImportSummary
	if err := json.Unmarshal([]byte(run(t, 0, "publisher", "import", "--json", "--data-dir", dir, folder)), &again); err != nil {
		t.Fatal(err)
	}
	if again.New != 0 || again.Events == 0 {
		t.Errorf("imported again: got %+v, want nothing new", again.Counts)
	}
}
