package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A replayed run, piped into an empty pipeline, gives the same run.
func TestReplay(t *testing.T) {
	o := oracles(t)[0]
	first, second := t.TempDir(), t.TempDir()
	run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", first, path(t, o))
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", first)
	want := summaries(t, first, "default")
	for id := range want {
		replayed := run(t, 0, "auditor", "replay", "--run", id, "--data-dir", first)
		checkOriginal(t, first, id, replayed)
		feed(t, []byte(replayed), 0, "publisher", "pipe", "--data-dir", second)
	}
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", second)
	run(t, 0, "auditor", "verify", "--data-dir", second)
	if diff := cmp.Diff(want, summaries(t, second, "default")); diff != "" {
		t.Errorf("runs (-original +replayed):\n%s", diff)
	}
}

func checkOriginal(t *testing.T, dir, id, lines string) {
	t.Helper()
	var want []byte
	for e, err := range read(t, dir, "default").Run(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(append(want, e.Bytes...), '\n')
	}
	if !bytes.Equal(want, []byte(lines)) {
		t.Errorf("replay of %s: got %d bytes, want the %d that the ledger holds", id, len(lines), len(want))
	}
	var last uint64
	for line := range strings.Lines(lines) {
		e, err := events.Decode([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if e.Sequence <= last {
			t.Fatalf("event %s: got sequence %d behind %d", e.ID, e.Sequence, last)
		}
		last = e.Sequence
	}
}
