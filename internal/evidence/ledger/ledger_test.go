package ledger_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:poison
func TestLedger_HoldsEveryRecordInOrder(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 300)
	f.Run("coder", "r2", 5)
	path := ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), f, 100)
	all := ledgertest.Leaves(t, path)
	if len(all) != len(f.Messages) {
		t.Fatalf("got %d leaves, want %d", len(all), len(f.Messages))
	}
	for i, e := range all {
		if e.Leaf != int64(i) || !bytes.Equal(e.Bytes, f.Messages[i].Data) || e.StreamSequence != f.Messages[i].Sequence {
			t.Fatalf("leaf %d: got %+v", i, e)
		}
	}
	r, err := ledger.OpenReader(path)
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

//guarantee:consumer-killed
func TestLedger_SameRootWhateverTheBatches(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	for i := range 4 {
		f.Run([]string{"a", "b"}[i%2], string(rune('r'+i)), 40)
	}
	key := ledgertest.NewKey(t)
	want := ledgertest.Newest(t, ledgertest.Write(t, t.TempDir(), key, f, 1000))
	for _, batch := range []int{1, 3, 50, 256} {
		got := ledgertest.Newest(t, ledgertest.Write(t, t.TempDir(), key, f, batch))
		if got.Root != want.Root || got.Size != want.Size || got.Digest != want.Digest || got.Position != want.Position {
			t.Errorf("batches of %d: got %+v, want %+v", batch, got, want)
		}
	}
}
