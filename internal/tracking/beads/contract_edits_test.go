package beads_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

func mustEdits(t *testing.T, w beads.Backend) []beads.Edit {
	t.Helper()
	edits, err := w.Edits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return edits
}

var sameEdits = cmp.Options{
	cmpopts.IgnoreFields(beads.Edit{}, "ID", "At", "By"), cmpopts.EquateEmpty(),
	cmpopts.SortSlices(func(a, b beads.Edit) bool { return a.Issue+string(a.Action) < b.Issue+string(b.Action) }),
}

func checkEdits(t *testing.T, open opener) {
	t.Helper()
	l, w := begin(t, open)
	for _, id := range []string{"ht-1", "ht-2", "ht-3", "ht-4", "ht-5", "ht-6"} {
		if err := w.Ensure(t.Context(), task(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Transition(t.Context(), beads.Transition{Issue: "ht-5", To: beads.Closed, At: at(1), Reason: "done"}); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	want := []beads.Edit{
		{Issue: "ht-1", Action: beads.ActionRetitled, Value: "a better title"},
		{Issue: "ht-2", Action: beads.ActionAssigned, Value: "mmuster"},
		{Issue: "ht-3", Action: beads.ActionClosed},
		{Issue: "ht-4", Action: beads.ActionNotPlanned},
		{Issue: "ht-5", Action: beads.ActionReopened},
	}
	for _, e := range want {
		l.edit(t, "acme", e.Issue, e)
	}
	first := mustEdits(t, w)
	if diff := cmp.Diff(want, first, sameEdits); diff != "" {
		t.Errorf("edits (-done +found):\n%s", diff)
	}
	if diff := cmp.Diff(first, mustEdits(t, w)); diff != "" {
		t.Errorf("read again (-first +second):\n%s", diff)
	}
	l.write(t)
	l.close(t)
	l = open(t, l.dir)
	w = l.backend.Workspace("acme")
	if diff := cmp.Diff(first, mustEdits(t, w)); diff != "" {
		t.Errorf("after reopening (-first +now):\n%s", diff)
	}
	if err := w.Acknowledge(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	if edits := mustEdits(t, w); len(edits) != 0 {
		t.Errorf("taken, and found again: %+v", edits)
	}
}

func checkOwnWrites(t *testing.T, open opener) {
	t.Helper()
	dir := t.TempDir()
	for range 2 {
		l := open(t, dir)
		w := l.backend.Workspace("acme")
		for n, err := range story(t.Context(), w) {
			if err != nil {
				t.Fatal(err)
			}
			l.write(t)
			if edits := mustEdits(t, w); len(edits) != 0 {
				t.Errorf("after call %d: %+v", n, edits)
			}
		}
		l.close(t)
	}
}

func checkPeopleWin(t *testing.T, open opener) {
	t.Helper()
	ctx := t.Context()
	l, w := begin(t, open)
	if err := errors.Join(w.Ensure(ctx, task("ht-1")), w.Ensure(ctx, task("ht-2"))); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	l.edit(t, "acme", "ht-1", beads.Edit{Action: beads.ActionRetitled, Value: "mine"})
	l.edit(t, "acme", "ht-1", beads.Edit{Action: beads.ActionAssigned, Value: "jdoe"})
	l.edit(t, "acme", "ht-2", beads.Edit{Action: beads.ActionNotPlanned})
	// The tracker writes before it reads the edits.
	if err := errors.Join(w.Ensure(ctx, task("ht-1")),
		w.Transition(ctx, beads.Transition{Issue: "ht-1", To: beads.Blocked, At: at(1)}),
		w.Transition(ctx, beads.Transition{Issue: "ht-2", To: beads.InProgress, At: at(1)}),
		w.Note(ctx, beads.Comment{Issue: "ht-1", Author: "hooktrail", Text: "again", CreatedAt: at(1)})); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	seen := l.seen(t, "acme")
	if got := seen["ht-1"]; got.Title != "mine" || got.Assignee != "jdoe" || got.Status != beads.Blocked || len(got.Comments) != 1 {
		t.Errorf("ht-1 is %q of %q, %s, with %d comments", got.Title, got.Assignee, got.Status, len(got.Comments))
	}
	if got := seen["ht-2"]; got.Status != beads.Closed || !strings.Contains(got.CloseReason, "not planned") {
		t.Errorf("ht-2 is %s for %q", got.Status, got.CloseReason)
	}
	if edits := mustEdits(t, w); len(edits) != 3 {
		t.Errorf("got %d edits, want 3: %+v", len(edits), edits)
	}
}

func checkDescriptions(t *testing.T, open opener) {
	t.Helper()
	ctx := t.Context()
	l, w := begin(t, open)
	if err := errors.Join(w.Ensure(ctx, task("ht-1")), w.Ensure(ctx, task("ht-2")), w.Describe(ctx, "ht-1", "one", at(1))); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	l.edit(t, "acme", "ht-1", beads.Edit{Value: "a person's own words"})
	mustEdits(t, w)
	if err := errors.Join(w.Describe(ctx, "ht-1", "two", at(2)), w.Describe(ctx, "ht-2", "-", at(2))); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	seen := l.seen(t, "acme")
	if got := seen["ht-1"].Description; got != "a person's own words" {
		t.Errorf("the description became %q", got)
	}
	if got := strings.TrimSpace(seen["ht-2"].Description); got != "-" {
		t.Errorf("the other description became %q", got)
	}
}

func checkForeignIssues(t *testing.T, open opener) {
	t.Helper()
	l, w := begin(t, open)
	if err := w.Ensure(t.Context(), task("ht-1")); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	l.edit(t, "acme", "ht-own1", beads.Edit{Action: "created", Value: "a person's own"})
	l.edit(t, "acme", "zz-own2", beads.Edit{Action: "created", Value: "another"})
	before := l.seen(t, "acme")
	if err := w.Ensure(t.Context(), task("ht-2")); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	if edits := mustEdits(t, w); len(edits) != 0 {
		t.Errorf("got edits of foreign issues: %+v", edits)
	}
	after := l.seen(t, "acme")
	if len(after) != 4 {
		t.Errorf("got %d issues, want 4", len(after))
	}
	for _, id := range []string{"ht-own1", "zz-own2"} {
		if diff := cmp.Diff(before[id], after[id]); diff != "" {
			t.Errorf("%s (-before +after):\n%s", id, diff)
		}
	}
}

func checkErase(t *testing.T, open opener) {
	t.Helper()
	ctx := t.Context()
	l, w := begin(t, open)
	secret := task("ht-1")
	secret.Title, secret.Description = "hunter2 in the title", "hunter2 in the text"
	linked := task("ht-2")
	if err := errors.Join(w.Ensure(ctx, secret), w.Ensure(ctx, linked),
		w.Link(ctx, beads.Dependency{Issue: "ht-2", DependsOn: "ht-1", Type: "discovered-from", CreatedAt: epoch}),
		w.Note(ctx, beads.Comment{Issue: "ht-1", Author: "hooktrail", Text: "hunter2 in a comment", CreatedAt: epoch}),
		w.Transition(ctx, beads.Transition{Issue: "ht-1", To: beads.Closed, At: at(1), Reason: "hunter2 in the reason"})); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	for _, id := range []string{"ht-1", "ht-1", "ht-none"} {
		if err := w.Erase(ctx, id, "erased"); err != nil {
			t.Fatal(err)
		}
	}
	l.write(t)
	l.write(t)
	seen := l.seen(t, "acme")
	want := beads.Issue{
		ID: "ht-1", Title: "erased", Status: beads.Closed, Priority: 1, Type: "task", CreatedAt: epoch, CreatedBy: "hooktrail", CloseReason: "erased",
		Labels: []string{"hooktrail", "tracking"}, Comments: []beads.Comment{{Issue: "ht-1", Author: "hooktrail", Text: "erased"}},
	}
	if diff := cmp.Diff(want, seen["ht-1"], sameIssues); diff != "" {
		t.Errorf("erased (-want +got):\n%s", diff)
	}
	if got := seen["ht-2"]; len(got.Dependencies) != 1 {
		t.Error("the link to it is gone")
	}
	if edits := mustEdits(t, w); len(edits) != 0 {
		t.Errorf("got edits: %+v", edits)
	}
	if _, ok := l.backend.(*beads.BD); ok && os.Getenv("HOOKTRAIL_TEST_BD") != "" {
		return // the real database has a history
	}
	l.close(t)
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("hunter2")) {
			t.Errorf("%s still has it", filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkLostInBetween(t *testing.T, open opener) {
	t.Helper()
	ctx := t.Context()
	l, w := begin(t, open)
	if err := errors.Join(w.Ensure(ctx, task("ht-1")), l.backend.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
	l.close(t)
	l = open(t, l.dir)
	if r, ok := l.backend.(interface {
		Recover(ctx context.Context) error
	}); ok {
		if err := r.Recover(ctx); err != nil {
			t.Fatal(err)
		}
	}
	l.write(t)
	if len(l.seen(t, "acme")) != 1 {
		t.Error("the issue was lost")
	}
}

func checkManyWorkspaces(t *testing.T, open opener) {
	t.Helper()
	l := open(t, t.TempDir())
	for _, tenant := range []string{"acme", "beta", "gamma"} {
		i := task("ht-1")
		i.Title = "of " + tenant
		if err := l.backend.Workspace(tenant).Ensure(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	l.write(t)
	for _, tenant := range []string{"acme", "beta", "gamma"} {
		if got := l.seen(t, tenant)["ht-1"].Title; got != "of "+tenant {
			t.Errorf("%s has %q", tenant, got)
		}
	}
}
