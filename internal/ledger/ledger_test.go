package ledger

import (
	"bytes"
	"context"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestLedger_HoldsEveryRecordInOrder(t *testing.T) {
	f := newFeed("acme")
	f.run("coder", "r1", 300)
	f.run("coder", "r2", 5)
	path := write(t, t.TempDir(), testKey(t), f, 100)
	all := leaves(t, path)
	if len(all) != len(f.messages) {
		t.Fatalf("got %d leaves, want %d", len(all), len(f.messages))
	}
	for i, e := range all {
		if e.Leaf != int64(i) || !bytes.Equal(e.Bytes, f.messages[i].Data) || e.StreamSequence != f.messages[i].Sequence {
			t.Fatalf("leaf %d: got %+v", i, e)
		}
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Summary(context.Background(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if s.ToolCalls != 300 || s.ToolCallsByName["Bash"] != 300 || s.Unanswered != 0 || !s.Sealed || s.Kinds[events.RunStarted] != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestLedger_SameRootWhateverTheBatches(t *testing.T) {
	f := newFeed("acme")
	for i := range 4 {
		f.run([]string{"a", "b"}[i%2], string(rune('r'+i)), 40)
	}
	key := testKey(t)
	want := root(t, write(t, t.TempDir(), key, f, 1000))
	for _, batch := range []int{1, 3, 50, 256} {
		got := root(t, write(t, t.TempDir(), key, f, batch))
		if got.Root != want.Root || got.Size != want.Size || got.Digest != want.Digest || got.Position != want.Position {
			t.Errorf("batches of %d: got %+v, want %+v", batch, got, want)
		}
	}
}
