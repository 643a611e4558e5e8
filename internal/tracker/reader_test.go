package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/beads"
	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// newBeadsDB opens a database for a store alone.
func newBeadsDB(tb testing.TB) *projection.DB {
	tb.Helper()
	db, err := projection.Open(tb.Context(), filepath.Join(tb.TempDir(), "beads.db"),
		projection.Schema{Name: "beads", Version: 1, Tables: beads.Schema}, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

// loadState returns the state in the tracker's database of dataDir.
func loadState(ctx context.Context, dataDir string) (*issues.State, error) {
	s := new(issues.State)
	err := read(ctx, dataDir, func(conn *sqlite.Conn) error {
		return errors.Join(
			record(conn, func(t issues.Tenant) { s.Load(issues.View{Tenant: t}) }, "SELECT record FROM tenant"),
			record(conn, func(r issues.Run) { s.Load(issues.View{Run: r}) }, "SELECT record FROM run"),
			record(conn, func(st issues.Step) { s.Load(issues.View{Step: st}) }, "SELECT record FROM step"),
			record(conn, func(i issues.Issue) { s.Load(issues.View{Issues: []issues.Issue{i}}) }, "SELECT record FROM issue"),
			record(conn, func(d issues.Decision) { s.Decide(d) }, "SELECT record FROM decision"))
	})
	return s, err
}

// box is an outbox in memory that refuses ids it has taken.
type box map[string]int

func (b box) Append(_ context.Context, e events.Event) (events.Event, error) {
	if b[e.ID]++; b[e.ID] > 1 {
		return e, publish.ErrDuplicate
	}
	return e, nil
}

// TestReader_BatchesAndRestartsDoNotMatter cuts a history into batches, starts
// the tracker anew between them, and delivers batches again that were not
// acknowledged: three trackers that split their work differently end alike.
func TestReader_BatchesAndRestartsDoNotMatter(t *testing.T) {
	list := story(t)
	var messages []consume.Message
	for i, e := range list {
		e.Producer, e.Sequence, e.Salt = "p", uint64(i+1), events.NewSalt()
		messages = append(messages, consume.Message{
			Sequence: uint64(i + 1), Data: e.Append(nil),
			Address: subjects.Address{Tenant: e.Tenant, Producer: "p", Run: e.Run, Kind: e.Kind()},
		})
	}
	state, decisions := want(t, list)
	wantHash := hashOf(t, state)
	root, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		published := make(box)
		for done := 0; done < len(messages); {
			size := rapid.IntRange(1, len(messages)-done).Draw(rt, "batch")
			again := rapid.IntRange(0, done).Draw(rt, "again")
			if err := oneLife(t.Context(), t, dir, messages[done-again:done+size], published); err != nil {
				rt.Fatal(err)
			}
			done += size
		}
		got, err := loadState(t.Context(), dir)
		if err != nil {
			rt.Fatal(err)
		}
		if h, err := got.Hash(); err != nil || h != wantHash {
			rt.Errorf("state: got hash %s, error %v; want %s", h, err, wantHash)
		}
		for _, d := range decisions {
			if published[d.ID()] != 1 {
				rt.Errorf("decision on %s was published %d times", d.Event, published[d.ID()])
			}
		}
		checkFiles(t, dir, state)
	})
}

// oneLife is a tracker that folds one batch, settles it, and ends.
func oneLife(ctx context.Context, tb testing.TB, dir string, batch []consume.Message, published box) (err error) {
	tb.Helper()
	db := openDB(tb, dir)
	defer func() { err = errors.Join(err, db.Close()) }()
	marks, err := db.LoadMarks(ctx)
	if err != nil {
		return err
	}
	store := beads.NewStore(db, filepath.Join(dir, "beads"))
	if err := store.Recover(ctx); err != nil {
		return err
	}
	opts := Options{backend: store}.withDefaults()
	s := newSettler(opts, db, published)
	r := &reader{db: db, marks: marks, opts: opts, settler: s}
	next := consume.Position{Sequence: batch[len(batch)-1].Sequence}
	if err := r.Apply(ctx, batch, next); err != nil {
		return err
	}
	return s.finish(ctx, true)
}
