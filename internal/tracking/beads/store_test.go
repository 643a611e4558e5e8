package beads_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

type testStore struct {
	*beads.Store
	db  *projection.DB
	dir string
}

func open(t *testing.T, dir string) testStore {
	t.Helper()
	db, err := projection.Open(t.Context(), filepath.Join(dir, "tracker.db"),
		projection.Schema{Name: "beads", Version: 1, Tables: beads.Schema}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return testStore{beads.NewStore(db, filepath.Join(dir, "beads")), db, filepath.Join(dir, "beads")}
}

func (r testStore) write(t *testing.T) {
	t.Helper()
	if err := errors.Join(r.Flush(t.Context()), r.Export(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func (r testStore) file(t *testing.T, tenant string) []byte {
	t.Helper()
	path, err := beads.File(r.dir, tenant)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func task(id string) beads.Issue {
	return beads.Issue{
		ID: id, Title: "GWI: RESOLVE run " + id, Status: beads.Open, Priority: 1, Type: beads.TypeTask,
		CreatedAt: epoch, CreatedBy: "hooktrail", UpdatedAt: epoch, Labels: []string{"tracking", "hooktrail"},
	}
}

// story makes calls like a tracker.
func story(ctx context.Context, w beads.Backend) []error {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	followup := task("ht-2")
	followup.Title, followup.Description = "add <retry> to the client", "Step CODER of run r1 left this over."
	return []error{
		w.Ensure(ctx, task("ht-1")),
		w.Transition(ctx, beads.Transition{Issue: "ht-1", To: beads.Blocked, At: at(1), Reason: "Step CODER failed"}),
		w.Transition(ctx, beads.Transition{Issue: "ht-1", To: beads.InProgress, At: at(2)}),
		w.Ensure(ctx, followup),
		w.Link(ctx, beads.Dependency{
			Issue: "ht-2", DependsOn: "ht-1", Type: "discovered-from", CreatedAt: at(3), CreatedBy: "hooktrail",
		}),
		w.Note(ctx, beads.Comment{Issue: "ht-2", Author: "hooktrail", Text: "one more", CreatedAt: at(3)}),
		w.Transition(ctx, beads.Transition{Issue: "ht-1", To: beads.Closed, At: at(4), Reason: "Run completed successfully"}),
		w.Ensure(ctx, task("ht-0")),
	}
}

func TestStore_Golden(t *testing.T) {
	r := open(t, t.TempDir())
	if err := errors.Join(story(t.Context(), r.Workspace("acme/ü"))...); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	got := r.file(t, "acme/ü")
	path := filepath.Join("testdata", "issues.jsonl")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("issues.jsonl (-want +got):\n%s", diff)
	}
}

func TestStore_RepeatsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	if err := errors.Join(story(t.Context(), r.Workspace("acme"))...); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	want := r.file(t, "acme")
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	r = open(t, dir)
	if err := errors.Join(story(t.Context(), r.Workspace("acme"))...); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	if diff := cmp.Diff(string(want), string(r.file(t, "acme"))); diff != "" {
		t.Errorf("issues.jsonl (-once +twice):\n%s", diff)
	}
}

func TestStore_CrashBetweenFlushAndExport(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	if err := r.Workspace("acme").Ensure(t.Context(), task("ht-1")); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	r = open(t, dir)
	if err := r.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.write(t)
	if n := bytes.Count(r.file(t, "acme"), []byte("\n")); n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}

func TestStore_ClosedDatabaseIsUnavailable(t *testing.T) {
	r := open(t, t.TempDir())
	w := r.Workspace("acme")
	if err := w.Ensure(t.Context(), task("ht-1")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Workspace("beta").Get(t.Context(), "ht-1"); !errors.Is(err, beads.ErrNotFound) {
		t.Errorf("another tenant's issue: got %v, want %v", err, beads.ErrNotFound)
	}
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Probe(t.Context()); !errors.Is(err, beads.ErrUnavailable) {
		t.Errorf("closed database: got %v, want %v", err, beads.ErrUnavailable)
	}
}

// After a crash between Flush and the caller's commit, the caller repeats its last changes.
func TestStore_RepeatedChangesOfOneTimeAreNoConflict(t *testing.T) {
	ctx := t.Context()
	w := open(t, t.TempDir()).Workspace("acme")
	if err := w.Ensure(ctx, task("ht-1")); err != nil {
		t.Fatal(err)
	}
	at := epoch.Add(time.Second)
	for range 2 {
		for _, tr := range []beads.Transition{
			{Issue: "ht-1", To: beads.InProgress, At: at},
			{Issue: "ht-1", To: beads.Closed, At: at, Reason: "done"},
		} {
			if err := w.Transition(ctx, tr); err != nil {
				t.Errorf("to %s: %v", tr.To, err)
			}
		}
	}
	if got, err := w.Get(ctx, "ht-1"); err != nil || got.Status != beads.Closed || got.CloseReason != "done" {
		t.Errorf("got %+v, error %v", got, err)
	}
}

// TestStore_OlderChangesChangeNothing applies transitions in random order. The latest one wins.
func TestStore_OlderChangesChangeNothing(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		r := open(t, filepath.Join(dir, fmt.Sprint(n)))
		defer r.db.Close()
		w := r.Workspace("acme")
		if err := w.Ensure(t.Context(), task("ht-1")); err != nil {
			rt.Fatal(err)
		}
		latest := beads.Transition{To: beads.Open, At: epoch}
		for range rapid.IntRange(1, 10).Draw(rt, "changes") {
			tr := beads.Transition{
				Issue: "ht-1", Reopen: true, At: epoch.Add(time.Duration(rapid.IntRange(0, 5).Draw(rt, "at")) * time.Second),
				To: rapid.SampledFrom([]beads.Status{beads.Open, beads.InProgress, beads.Blocked, beads.Closed}).Draw(rt, "to"),
			}
			if err := w.Transition(t.Context(), tr); err != nil {
				rt.Fatal(err)
			}
			if !tr.At.Before(latest.At) {
				latest = tr
			}
		}
		got, err := w.Get(t.Context(), "ht-1")
		if err != nil {
			rt.Fatal(err)
		}
		if got.Status != latest.To || !got.UpdatedAt.Equal(latest.At) {
			rt.Errorf("got %s at %s, want %s at %s", got.Status, got.UpdatedAt, latest.To, latest.At)
		}
		if err := got.Validate(); err != nil {
			rt.Error(err)
		}
	})
}

// TestIssue_KeepsRealBeads tests that all fields of a real tracker survive, even unknown ones.
func TestIssue_KeepsRealBeads(t *testing.T) {
	data, err := os.ReadFile(realdata.Path(t, "orchestrators", "beads", "issues.sample.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for before := range bytes.Lines(data) {
		issue, err := beads.ParseLine(before)
		if err != nil {
			t.Fatalf("line %d: %v", read+1, err)
		}
		read++
		after, err := issue.AppendLine(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asJSON(t, before), asJSON(t, after)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", issue.ID, diff)
		}
		if issue.Extra == nil && !bytes.Equal(before, after) {
			t.Errorf("%s is written otherwise:\n%s%s", issue.ID, before, after)
		}
	}
	if read != 954 {
		t.Errorf("read %d issues, want 954", read)
	}
}

func asJSON(t *testing.T, line []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzParseLine(f *testing.F) {
	line, err := task("ht-1").AppendLine(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"id":"x","title":"t","status":"closed","priority":4,"issue_type":"bug","closed_at":"2026-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		issue, err := beads.ParseLine(line)
		if err != nil {
			return
		}
		again, err := issue.AppendLine(nil)
		if err != nil {
			t.Fatalf("what was parsed cannot be written: %v", err)
		}
		back, err := beads.ParseLine(again)
		if err != nil {
			t.Fatalf("parse %s again: %v", again, err)
		}
		if diff := cmp.Diff(issue, back, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("issue (-first +again):\n%s", diff)
		}
	})
}
