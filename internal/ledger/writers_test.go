package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

func TestLedger_FullDisk(t *testing.T) {
	key, f, dir := testKey(t), benchFeed(3000), t.TempDir()
	opts := Options{Key: key, Now: f.at}.WithMaxPages(120)
	l, err := Open(t.Context(), dir, "acme", opts)
	if err != nil {
		t.Fatal(err)
	}
	at, failures := 0, 0
	for at < len(f.messages) {
		to := min(at+100, len(f.messages))
		_, err := l.Append(t.Context(), stream, f.messages[at:to])
		if err == nil {
			at = to
			continue
		}
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultFull {
			t.Fatalf("got %v, want a full disk", err)
		}
		if failures++; failures%2 == 0 { // there is room again
			if err := exec(l.Conn(), fmt.Sprintf("PRAGMA max_page_count=%d", 120+100*failures)); err != nil {
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
	r := verify(t, l.Path(), key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Complete)
	if want := root(t, write(t, t.TempDir(), key, f, 1000)); root(t, l.Path()).Root != want.Root || r.Leaves != int64(len(f.messages)) {
		t.Errorf("got %d leaves and another root, want %d", r.Leaves, want.Size)
	}
}

func TestLedger_TwoWriters(t *testing.T) {
	key, f, dir := testKey(t), bigFeed(), t.TempDir()
	var both [2]*Ledger
	for i := range both {
		var err error
		if both[i], err = Open(t.Context(), dir, "acme", Options{Key: key, Now: f.at}); err != nil {
			t.Fatal(err)
		}
		defer both[i].Close()
	}
	for i, batch := range slices.Collect(slices.Chunk(f.messages, 10)) {
		for j := range both { // the second one finds it done
			if _, err := both[(i+j)%2].Append(t.Context(), stream, batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantVerdicts(t, verify(t, both[0].Path(), key, VerifyOptions{}), Verified, Complete)
}

func TestLedger_StreamReplaced(t *testing.T) {
	key, f, dir := testKey(t), bigFeed(), t.TempDir()
	l, err := Open(t.Context(), dir, "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	half := len(f.messages) / 2
	if _, err := l.Append(t.Context(), stream, f.messages[:half]); err != nil {
		t.Fatal(err)
	}
	// A new stream, numbered from 1, that begins with messages of the old one.
	next := Stream{Epoch: 2, Created: stream.Created.Add(time.Hour)}
	rest := slices.Clone(f.messages[half-10:])
	for i := range rest {
		rest[i].Sequence = uint64(i + 1)
	}
	done, err := l.Append(t.Context(), next, rest)
	if err != nil || done.Copies != 10 {
		t.Fatalf("got %+v, %v, want 10 copies", done, err)
	}
	if _, err := l.Append(t.Context(), stream, f.messages); err == nil {
		t.Error("a message of the old stream was taken")
	}
	r := verify(t, l.Path(), key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Complete)
	if len(r.Streams) != 2 {
		t.Errorf("streams: got %+v, want two", r.Streams)
	}
	if want := root(t, write(t, t.TempDir(), key, f, 1000)); l.Newest().Root != want.Root {
		t.Error("the root is another one")
	}
}

func TestLedger_Cancelled(t *testing.T) {
	key, f := testKey(t), bigFeed()
	l, err := Open(t.Context(), t.TempDir(), "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, stream, f.messages); err == nil {
		t.Fatal("a batch was taken after the end")
	}
	if _, err := l.Append(t.Context(), stream, f.messages); err != nil {
		t.Fatal(err)
	}
	wantVerdicts(t, verify(t, l.Path(), key, VerifyOptions{}), Verified, Complete)
	var taken error
	if _, taken = l.Append(t.Context(), Stream{Epoch: 0}, nil); taken == nil || errors.Is(taken, ErrDamaged) {
		t.Errorf("epoch 0: got %v", taken)
	}
}
