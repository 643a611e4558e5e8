package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The stream broke off: it is told for ever, and nothing is complete until every
// producer was heard of again.
func TestLedger_Break(t *testing.T) {
	key, f := testKey(t), newFeed("acme")
	for _, producer := range []string{"coder", "tester"} {
		f.run(producer, "r-"+producer, 5)
	}
	l, err := Open(t.Context(), t.TempDir(), "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := Position{Epoch: 1, Stream: stream.Created, Sequence: 5}
	if err := l.Break(t.Context(), at); err != nil || l.Newest().Number != 1 {
		t.Fatalf("of nothing: got %+v, %v", l.Newest(), err)
	}
	appendAll(t, l, stream, f.messages)
	last, read := l.Newest().Position.Sequence, len(f.messages)
	at.Sequence = last + 10
	for range 2 { // the second one is done
		if err := l.Break(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := verify(t, l.Path(), key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Unproven)
	want := []Break{{Epoch: 1, After: last, Until: last + 10, Leaves: r.Leaves, Noticed: r.Breaks[0].Noticed}}
	if diff := cmp.Diff(want, r.Breaks); diff != "" {
		t.Errorf("breaks (-want +got):\n%s", diff)
	}
	for _, producer := range []string{"coder", "tester"} {
		f.run(producer, "again-"+producer, 5)
	}
	rest := slices.Clone(f.messages[read:])
	for i := range rest {
		rest[i].Sequence = at.Sequence + 1 + uint64(i)
	}
	half := slices.IndexFunc(rest, func(m Message) bool { return m.Address.Producer == "tester" })
	appendAll(t, l, stream, rest[:half])
	if r := verify(t, l.Path(), key, VerifyOptions{}); r.Completeness != Unproven || r.Producers[0].Unheard || !r.Producers[1].Unheard {
		t.Errorf("one was heard of: got %s, %+v", r.Completeness, r.Producers)
	}
	appendAll(t, l, stream, rest[half:])
	r = verify(t, l.Path(), key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Complete)
	if len(r.Breaks) != 1 {
		t.Errorf("breaks: got %+v", r.Breaks)
	}
}

// What the ledger and a stream that was taken back have in common is skipped,
// whatever it is; what lies behind that is read.
func TestLedger_BreakInCommon(t *testing.T) {
	key, f := testKey(t), newFeed("acme")
	f.run("coder", "r1", 5)
	common := f.messages[len(f.messages)-1]
	f.run("coder", "r2", 5)
	l, err := Open(t.Context(), t.TempDir(), "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	appendAll(t, l, stream, f.messages)
	before := l.Newest()
	next := Stream{Epoch: 2, Created: stream.Created}
	at := Position{Epoch: 2, Stream: next.Created, Sequence: common.Sequence, Hash: events.HashOf(common.Data)}
	if err := l.Break(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, next, f.messages)
	if after := l.Newest(); after.Arrivals != before.Arrivals || after.Root != before.Root {
		t.Errorf("got %+v, want what was there before, %+v", after, before)
	}
	r := verify(t, l.Path(), key, VerifyOptions{})
	if r.Integrity != Verified || len(r.Breaks) != 1 || !r.Breaks[0].Replaced || len(r.Streams) != 2 {
		t.Errorf("got %+v", r)
	}
	f.now = f.now.Add(time.Minute)
	f.run("coder", "r3", 5)
	appendAll(t, l, next, f.messages)
	wantVerdicts(t, verify(t, l.Path(), key, VerifyOptions{}), Verified, Complete)
}

// What is in quarantine comes again with a stream that was restored and is read from
// its beginning: it is there. In one stream it counts as often as it comes.
func TestLedger_QuarantineComesAgain(t *testing.T) {
	key, f := testKey(t), newFeed("acme")
	f.run("coder", "r1", 2)
	garbage := f.messages[0]
	garbage.Data = []byte("no event")
	for range 2 {
		garbage.Sequence = f.messages[len(f.messages)-1].Sequence + 1
		f.messages = append(f.messages, garbage)
	}
	l, err := Open(t.Context(), t.TempDir(), "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	appendAll(t, l, stream, f.messages)
	before := l.Newest()
	appendAll(t, l, Stream{Epoch: 2, Created: stream.Created.Add(time.Hour)}, f.messages)
	if after := l.Newest(); after.Size != before.Size || after.Root != before.Root {
		t.Errorf("got %d leaves, want %d", after.Size, before.Size)
	}
	if r := verify(t, l.Path(), key, VerifyOptions{}); r.Integrity != Verified || r.SetApart != 2 {
		t.Errorf("got %+v", r)
	}
}
