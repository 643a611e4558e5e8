package tracker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

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

// kept is a complete state, by tenant, kind and id.
type kept map[string]string

// keptBy requires that all records of s are new.
func keptBy(s *rules.State) kept {
	k, c := make(kept), s.Changes()
	for _, r := range c.Records {
		if r.JSON != nil {
			k[strings.Join([]string{r.Tenant, r.Kind, r.ID}, "/")] = string(r.JSON)
		}
	}
	for _, t := range c.Set {
		k[t.Tenant+"/timer/"+t.ID] = store.Sortable(t.At)
	}
	return k
}

func keptIn(ctx context.Context, dataDir string) (kept, error) {
	k := make(kept)
	add := func(stmt *sqlite.Stmt) error {
		k[strings.Join([]string{stmt.ColumnText(0), stmt.ColumnText(1), stmt.ColumnText(2)}, "/")] = stmt.ColumnText(3)
		return nil
	}
	err := store.Read(ctx, dataDir, func(conn *sqlite.Conn) error {
		return errors.Join(
			store.Each(conn, add, "SELECT tenant, kind, id, record FROM record WHERE kind <> 'config'"),
			store.Each(conn, add, "SELECT tenant, 'timer', id, at FROM timer"))
	})
	return k, err
}

// countingOutbox refuses repeated ids.
type countingOutbox map[string]int

func (b countingOutbox) Append(_ context.Context, e events.Event) (events.Event, error) {
	if b[e.ID]++; b[e.ID] > 1 {
		return e, publish.ErrDuplicate
	}
	return e, nil
}

// TestReader_BatchesAndRestartsDoNotMatter restarts the tracker between random batches and repeats
// batches that were not acknowledged. The state must not depend on that.
func TestReader_BatchesAndRestartsDoNotMatter(t *testing.T) {
	race.Draw(t, 100, 15)
	list := rulestest.Story(t)
	var messages []consume.Message
	for i, e := range list {
		e.Producer, e.Sequence, e.Salt = "p", uint64(i+1), events.NewSalt()
		messages = append(messages, consume.Message{
			Sequence: uint64(i + 1), Data: e.Append(nil),
			Address: subjects.Address{Tenant: e.Tenant, Producer: "p", Run: e.Run, Kind: e.Kind()},
		})
	}
	state, decisions := rulestest.Fold(t, list)
	all := keptBy(state)
	root, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		published := make(countingOutbox)
		for done := 0; done < len(messages); {
			size := rapid.IntRange(1, len(messages)-done).Draw(rt, "batch")
			again := rapid.IntRange(0, done).Draw(rt, "again")
			if err := runBatch(t.Context(), t, dir, messages[done-again:done+size], published); err != nil {
				rt.Fatal(err)
			}
			done += size
		}
		got, err := keptIn(t.Context(), dir)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(all, got); diff != "" {
			rt.Errorf("state (-want +got):\n%s", diff)
		}
		for _, d := range decisions {
			if published[d.ID()] != 1 {
				rt.Errorf("decision on %s was published %d times", d.Event, published[d.ID()])
			}
		}
		checkFiles(t, dir, state)
	})
}

func runBatch(ctx context.Context, tb testing.TB, dir string, batch []consume.Message, published countingOutbox) (err error) {
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
