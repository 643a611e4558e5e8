package writer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

func TestLedger_FullDisk(t *testing.T) {
	key, f, dir := ledgertest.NewKey(t), ledgertest.BenchFeed(3000), t.TempDir()
	opts := writer.Options{Key: key, Now: f.At}.WithMaxPages(120)
	l, err := writer.Open(t.Context(), dir, "acme", opts)
	if err != nil {
		t.Fatal(err)
	}
	at, failures := 0, 0
	for at < len(f.Messages) {
		to := min(at+100, len(f.Messages))
		_, err := l.Append(t.Context(), ledgertest.Stream, f.Messages[at:to])
		if err == nil {
			at = to
			continue
		}
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultFull {
			t.Fatalf("got %v, want a full disk", err)
		}
		if failures++; failures%2 == 0 {
			if err := sqlitetx.Exec(l.Conn(), fmt.Sprintf("PRAGMA max_page_count=%d", 120+100*failures)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if failures == 0 {
		t.Error("the disk was never full")
	}
	r := ledgertest.Verify(t, l.Path(), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if want := ledgertest.Newest(t, ledgertest.Write(t, t.TempDir(), key, f, 1000)); ledgertest.Newest(t, l.Path()).Root != want.Root || r.Leaves != int64(len(f.Messages)) {
		t.Errorf("got %d leaves and another root, want %d", r.Leaves, want.Size)
	}
}

func TestLedger_TwoWriters(t *testing.T) {
	key, f, dir := ledgertest.NewKey(t), ledgertest.BigFeed(), t.TempDir()
	var both [2]*writer.Ledger
	for i := range both {
		var err error
		if both[i], err = writer.Open(t.Context(), dir, "acme", writer.Options{Key: key, Now: f.At}); err != nil {
			t.Fatal(err)
		}
		defer both[i].Close()
	}
	for i, batch := range slices.Collect(slices.Chunk(f.Messages, 10)) {
		for j := range both { // the second writer finds that the batch was appended
			if _, err := both[(i+j)%2].Append(t.Context(), ledgertest.Stream, batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	ledgertest.WantVerdicts(t, ledgertest.Verify(t, both[0].Path(), key, verifier.Options{}), verifier.Verified, verifier.Complete)
}

func TestLedger_StreamReplaced(t *testing.T) {
	key, f, dir := ledgertest.NewKey(t), ledgertest.BigFeed(), t.TempDir()
	l, err := writer.Open(t.Context(), dir, "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	half := len(f.Messages) / 2
	if _, err := l.Append(t.Context(), ledgertest.Stream, f.Messages[:half]); err != nil {
		t.Fatal(err)
	}
	// A new stream starts at number 1 with messages of the old one.
	next := ledger.Stream{Epoch: 2, Created: ledgertest.Stream.Created.Add(time.Hour)}
	rest := slices.Clone(f.Messages[half-10:])
	for i := range rest {
		rest[i].Sequence = uint64(i + 1)
	}
	done, err := l.Append(t.Context(), next, rest)
	if err != nil || done.Copies != 10 {
		t.Fatalf("got %+v, %v, want 10 copies", done, err)
	}
	if _, err := l.Append(t.Context(), ledgertest.Stream, f.Messages); err == nil {
		t.Error("a message of the old stream was taken")
	}
	r := ledgertest.Verify(t, l.Path(), key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if len(r.Streams) != 2 {
		t.Errorf("streams: got %+v, want two", r.Streams)
	}
	if want := ledgertest.Newest(t, ledgertest.Write(t, t.TempDir(), key, f, 1000)); l.Newest().Root != want.Root {
		t.Error("the root is another one")
	}
}

func TestLedger_Cancelled(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.BigFeed()
	l, err := writer.Open(t.Context(), t.TempDir(), "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, ledgertest.Stream, f.Messages); err == nil {
		t.Fatal("a batch was taken after the end")
	}
	if _, err := l.Append(t.Context(), ledgertest.Stream, f.Messages); err != nil {
		t.Fatal(err)
	}
	ledgertest.WantVerdicts(t, ledgertest.Verify(t, l.Path(), key, verifier.Options{}), verifier.Verified, verifier.Complete)
	var taken error
	if _, taken = l.Append(t.Context(), ledger.Stream{Epoch: 0}, nil); taken == nil || errors.Is(taken, ledger.ErrDamaged) {
		t.Errorf("epoch 0: got %v", taken)
	}
}
