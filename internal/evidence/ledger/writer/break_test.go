package writer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The ledger is incomplete until each producer has sent something after the break.
//
//guarantee:verify-stream-replaced
func TestLedger_Break(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	for _, producer := range []string{"coder", "tester"} {
		f.Run(producer, "r-"+producer, 5)
	}
	l, err := writer.Open(t.Context(), t.TempDir(), "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := ledger.Position{Epoch: 1, Stream: ledgertest.Stream.Created, Sequence: 5}
	if err := l.Break(t.Context(), at); err != nil || l.Newest().Number != 1 {
		t.Fatalf("of nothing: got %+v, %v", l.Newest(), err)
	}
	ledgertest.AppendAll(t, l, ledgertest.Stream, f.Messages)
	last, read := l.Newest().Position.Sequence, len(f.Messages)
	at.Sequence = last + 10
	for range 2 { // the second call does nothing
		if err := l.Break(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Verify(t, l.Path(), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Unproven)
	want := []verifier.Break{{Epoch: 1, After: last, Until: last + 10, Leaves: r.Leaves, Noticed: r.Breaks[0].Noticed}}
	if diff := cmp.Diff(want, r.Breaks); diff != "" {
		t.Errorf("breaks (-want +got):\n%s", diff)
	}
	for _, producer := range []string{"coder", "tester"} {
		f.Run(producer, "again-"+producer, 5)
	}
	rest := slices.Clone(f.Messages[read:])
	for i := range rest {
		rest[i].Sequence = at.Sequence + 1 + uint64(i)
	}
	half := slices.IndexFunc(rest, func(m ledger.Message) bool { return m.Address.Producer == "tester" })
	ledgertest.AppendAll(t, l, ledgertest.Stream, rest[:half])
	if r := ledgertest.Verify(t, l.Path(), key, verifier.Options{}); r.Completeness != verifier.Unproven || r.Producers[0].SilentSinceBreak || !r.Producers[1].SilentSinceBreak {
		t.Errorf("one was heard of: got %s, %+v", r.Completeness, r.Producers)
	}
	ledgertest.AppendAll(t, l, ledgertest.Stream, rest[half:])
	r = ledgertest.Verify(t, l.Path(), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if len(r.Breaks) != 1 {
		t.Errorf("breaks: got %+v", r.Breaks)
	}
}

// Messages that the ledger and a rolled-back stream share are skipped.
//
//guarantee:verify-stream-replaced
func TestLedger_BreakInCommon(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 5)
	common := f.Messages[len(f.Messages)-1]
	f.Run("coder", "r2", 5)
	l, err := writer.Open(t.Context(), t.TempDir(), "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ledgertest.AppendAll(t, l, ledgertest.Stream, f.Messages)
	before := l.Newest()
	next := ledger.Stream{Epoch: 2, Created: ledgertest.Stream.Created}
	at := ledger.Position{Epoch: 2, Stream: next.Created, Sequence: common.Sequence, Hash: events.HashOf(common.Data)}
	if err := l.Break(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	ledgertest.AppendAll(t, l, next, f.Messages)
	if after := l.Newest(); after.Arrivals != before.Arrivals || after.Root != before.Root {
		t.Errorf("got %+v, want what was there before, %+v", after, before)
	}
	r := ledgertest.Verify(t, l.Path(), key, verifier.Options{})
	if r.Integrity != verifier.Verified || len(r.Breaks) != 1 || !r.Breaks[0].Replaced || len(r.Streams) != 2 {
		t.Errorf("got %+v", r)
	}
	f.Now = f.Now.Add(time.Minute)
	f.Run("coder", "r3", 5)
	ledgertest.AppendAll(t, l, next, f.Messages)
	ledgertest.WantVerdicts(t, ledgertest.Verify(t, l.Path(), key, verifier.Options{}), verifier.Verified, verifier.Complete)
}

// A restored stream repeats quarantined messages, and they are skipped.
func TestLedger_QuarantineComesAgain(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 2)
	garbage := f.Messages[0]
	garbage.Data = []byte("no event")
	for range 2 {
		garbage.Sequence = f.Messages[len(f.Messages)-1].Sequence + 1
		f.Messages = append(f.Messages, garbage)
	}
	l, err := writer.Open(t.Context(), t.TempDir(), "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ledgertest.AppendAll(t, l, ledgertest.Stream, f.Messages)
	before := l.Newest()
	ledgertest.AppendAll(t, l, ledger.Stream{Epoch: 2, Created: ledgertest.Stream.Created.Add(time.Hour)}, f.Messages)
	if after := l.Newest(); after.Size != before.Size || after.Root != before.Root {
		t.Errorf("got %d leaves, want %d", after.Size, before.Size)
	}
	if r := ledgertest.Verify(t, l.Path(), key, verifier.Options{}); r.Integrity != verifier.Verified || r.SetApart != 2 {
		t.Errorf("got %+v", r)
	}
}
