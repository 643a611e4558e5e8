package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// drawFeed is a random history without anything missing: several producers,
// runs that overlap, batches that were half stored and came again, imports that
// were repeated.
func drawFeed(rt *rapid.T) *feed {
	f := newFeed("acme")
	producers := []string{"a", "b/1", "c"}
	open := map[string][]string{}
	for step := range rapid.IntRange(1, 40).Draw(rt, "steps") {
		p := rapid.SampledFrom(producers).Draw(rt, "producer")
		switch rapid.IntRange(0, 6).Draw(rt, "what") {
		case 0:
			run := fmt.Sprint("run ", step)
			f.event(p, run, events.RunStarted, events.RunStartedData{})
			open[p] = append(open[p], run)
		case 1, 2:
			for _, run := range open[p] {
				f.event(p, run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
			}
		case 3:
			if len(open[p]) > 0 {
				run := open[p][0]
				f.event(p, run, events.RunFinished, events.RunFinishedData{})
				f.seal(p, run)
				if rapid.Bool().Draw(rt, "goes on") {
					f.event(p, run, events.ToolBefore, events.ToolBeforeData{Tool: "Read"})
					f.seal(p, run)
				}
				open[p] = open[p][1:]
			}
		case 4:
			f.event(p, "", events.Custom, events.CustomData{Name: "x"})
		case 5:
			if e, ok := drawEvent(rt, f); ok {
				f.publish("again", e)
				f.manifest("again")
			}
		case 6:
			if n := len(f.messages); n > 0 { // a batch whose first part had been stored already
				from := rapid.IntRange(max(0, n-20), n-1).Draw(rt, "orphans")
				for _, m := range slices.Clone(f.messages[from:]) {
					f.add(m.Address, m.Data)
				}
			}
		}
		if rapid.Bool().Draw(rt, "manifest") && len(f.source(p).pending) > 0 {
			f.manifest(p)
		}
	}
	for _, p := range producers {
		for _, run := range open[p] {
			f.event(p, run, events.RunFinished, events.RunFinishedData{})
			f.seal(p, run)
		}
		if len(f.source(p).pending) > 0 {
			f.manifest(p)
		}
	}
	return f
}

// drawEvent returns one of the events that were published, other than a seal.
func drawEvent(rt *rapid.T, f *feed) (events.Event, bool) {
	if len(f.messages) == 0 {
		return events.Event{}, false
	}
	e, err := events.Decode(rapid.SampledFrom(f.messages).Draw(rt, "event").Data)
	return e, err == nil && e.Kind() != events.RunSealed
}

// writeDrawn writes the feed as a consumer would that is stopped and started,
// and gets messages again.
func writeDrawn(tb testing.TB, rt *rapid.T, key *Key, f *feed) string {
	tb.Helper()
	dir := tb.TempDir()
	var path string
	for at := 0; at < len(f.messages); {
		l, err := Open(tb.Context(), dir, f.tenant, Options{Key: key, Now: f.at})
		if err != nil {
			rt.Fatal(err)
		}
		path = l.path
		for range rapid.IntRange(1, 5).Draw(rt, "batches") {
			from := max(0, at-rapid.IntRange(0, 10).Draw(rt, "again"))
			to := min(len(f.messages), at+rapid.IntRange(1, 60).Draw(rt, "batch"))
			if _, err := l.Append(tb.Context(), stream, f.messages[from:to]); err != nil {
				rt.Fatal(err)
			}
			at = to
		}
		if err := l.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	return path
}

func TestHistory_CleanOnesGiveNoAlarm(t *testing.T) {
	key := testKey(t)
	rapid.Check(t, func(rt *rapid.T) {
		f := drawFeed(rt)
		if len(f.messages) == 0 {
			return
		}
		once := write(t, t.TempDir(), key, f, len(f.messages))
		drawn := writeDrawn(t, rt, key, f)
		for _, path := range []string{once, drawn} {
			r := verify(t, path, key, VerifyOptions{Tenant: "acme"})
			if r.Exit != ExitVerified {
				rt.Fatalf("got %s and %s: %q, %+v, unsealed %q, %+v", r.Integrity, r.Completeness, r.Problems, r.Gaps, r.Unsealed, r.Producers)
			}
		}
		a, b := root(t, once), root(t, drawn)
		if a.Root != b.Root || a.Size != b.Size || a.Digest != b.Digest || a.Position != b.Position {
			rt.Fatalf("the batches show: %+v and %+v", a, b)
		}
	})
}

func TestLedger_FullDisk(t *testing.T) {
	key, f, dir := testKey(t), benchFeed(3000), t.TempDir()
	opts := Options{Key: key, Now: f.at, maxPages: 120}
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
			if err := exec(l.conn, fmt.Sprintf("PRAGMA max_page_count=%d", 120+100*failures)); err != nil {
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
	r := verify(t, l.path, key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Complete)
	if want := root(t, write(t, t.TempDir(), key, f, 1000)); root(t, l.path).Root != want.Root || r.Leaves != int64(len(f.messages)) {
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
	wantVerdicts(t, verify(t, both[0].path, key, VerifyOptions{}), Verified, Complete)
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
	r := verify(t, l.path, key, VerifyOptions{})
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
	ctx, cancel := contextWithCancel(t)
	cancel()
	if _, err := l.Append(ctx, stream, f.messages); err == nil {
		t.Fatal("a batch was taken after the end")
	}
	if _, err := l.Append(t.Context(), stream, f.messages); err != nil {
		t.Fatal(err)
	}
	wantVerdicts(t, verify(t, l.path, key, VerifyOptions{}), Verified, Complete)
	var taken error
	if _, taken = l.Append(t.Context(), Stream{Epoch: 0}, nil); taken == nil || errors.Is(taken, ErrDamaged) {
		t.Errorf("epoch 0: got %v", taken)
	}
}
