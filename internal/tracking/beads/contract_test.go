package beads_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

func at(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }

// sameIssues ignores the times and comment ids that bd assigns.
var sameIssues = cmp.Options{
	cmpopts.IgnoreFields(beads.Issue{}, "UpdatedAt", "ClosedAt", "Extra", "Owner"),
	cmpopts.IgnoreFields(beads.Dependency{}, "CreatedAt", "CreatedBy", "Extra"),
	cmpopts.IgnoreFields(beads.Comment{}, "ID", "CreatedAt", "Extra"),
	cmpopts.EquateEmpty(),
}

func checkStory(t *testing.T, open opener) {
	t.Helper()
	l, w := begin(t, open)
	if err := errors.Join(append(story(t.Context(), w),
		w.Label(t.Context(), "ht-2", "flapping", at(5)),
		w.Describe(t.Context(), "ht-0", "Two runs failed.\n\n- r1\n- r2", at(6)))...); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	seen := l.seen(t, "acme")
	if len(seen) != 3 {
		t.Errorf("got %d issues, want 3", len(seen))
	}
	for id, got := range seen {
		want, err := w.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sameIssues); diff != "" {
			t.Errorf("%s (-asked for +found):\n%s", id, diff)
		}
	}
	if got := seen["ht-1"]; got.Status != beads.Closed || got.CloseReason != "Run completed successfully" {
		t.Errorf("ht-1 is %s for %q", got.Status, got.CloseReason)
	}
	if got := seen["ht-0"]; got.Description != "Two runs failed.\n\n- r1\n- r2" {
		t.Errorf("ht-0 is described as %q", got.Description)
	}
	if got := seen["ht-2"]; !cmp.Equal(got.Labels, []string{"flapping", "hooktrail", "tracking"}) || len(got.Comments) != 1 || len(got.Dependencies) != 1 {
		t.Errorf("ht-2 has labels %q, %d comments and %d dependencies", got.Labels, len(got.Comments), len(got.Dependencies))
	}
}

func checkRepeats(t *testing.T, open opener) {
	t.Helper()
	dir := t.TempDir()
	var want map[string]beads.Issue
	for n := range 3 {
		l := open(t, dir)
		if err := errors.Join(story(t.Context(), l.backend.Workspace("acme"))...); err != nil {
			t.Fatal(err)
		}
		l.write(t)
		l.write(t)
		got := l.seen(t, "acme")
		if n == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("start %d (-first +now):\n%s", n, diff)
		}
		l.close(t)
	}
}

func checkFates(t *testing.T, open opener) {
	t.Helper()
	ctx := t.Context()
	l, w := begin(t, open)
	closed := beads.Transition{Issue: "ht-1", To: beads.Closed, At: at(1)}
	if err := errors.Join(w.Ensure(ctx, task("ht-1")), w.Transition(ctx, closed), w.Probe(ctx)); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	nameless := task("ht-9")
	nameless.Title = "\n"
	for name, test := range map[string]struct{ got, want error }{
		"ClosedIsTerminal": {w.Transition(ctx, beads.Transition{Issue: "ht-1", To: beads.Open, At: epoch.AddDate(1, 0, 0)}), beads.ErrConflict},
		"NoSuchIssue":      {w.Transition(ctx, beads.Transition{Issue: "ht-7", To: beads.Open, At: epoch}), beads.ErrInvalid},
		"NoSuchStatus":     {w.Transition(ctx, beads.Transition{Issue: "ht-1", To: "lost", At: epoch}), beads.ErrInvalid},
		"NoTitle":          {w.Ensure(ctx, nameless), beads.ErrInvalid},
		"NoLabel":          {w.Label(ctx, "ht-1", "-x,y", epoch), beads.ErrInvalid},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", name, test.got, test.want)
		}
	}
	if _, err := w.Get(ctx, "ht-7"); !errors.Is(err, beads.ErrNotFound) {
		t.Errorf("got %v, want %v", err, beads.ErrNotFound)
	}
	again := beads.Transition{Issue: "ht-1", To: beads.Open, At: epoch.AddDate(1, 0, 0), Reopen: true}
	older := beads.Transition{Issue: "ht-1", To: beads.Blocked, At: epoch}
	if err := errors.Join(w.Transition(ctx, again), w.Transition(ctx, older)); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	if got := l.seen(t, "acme")["ht-1"]; got.Status != beads.Open || got.CloseReason != "" {
		t.Errorf("reopened, it is %s for %q", got.Status, got.CloseReason)
	}
}

func checkComments(t *testing.T, open opener) {
	t.Helper()
	l, w := begin(t, open)
	for round, ids := range [][]string{{"ht-1", "ht-2"}, {"ht-3"}} {
		for n, id := range ids {
			note := beads.Comment{Issue: id, Author: "hooktrail", Text: "one more", CreatedAt: at(10*round + n)}
			again := note
			again.CreatedAt = at(100)
			if err := errors.Join(w.Ensure(t.Context(), task(id)), w.Note(t.Context(), note), w.Note(t.Context(), again)); err != nil {
				t.Fatal(err)
			}
		}
		l.write(t)
	}
	ids := make(map[string]bool)
	for id, issue := range l.seen(t, "acme") {
		if len(issue.Comments) != 2 {
			t.Errorf("%s has %d comments, want 2", id, len(issue.Comments))
		}
		for _, c := range issue.Comments {
			ids[string(c.ID)] = true
		}
	}
	if len(ids) != 6 {
		t.Errorf("got %d ids of comments, want 6: %v", len(ids), ids)
	}
}

// No text may act as a command, a flag or a line end.
func checkHostileTexts(t *testing.T, open opener) {
	t.Helper()
	l, w := begin(t, open)
	trap := filepath.Join(l.dir, "trap")
	titles := []string{
		"-", "--", "--title=other", "-rf /", "--status=closed", "@" + trap, "$(touch " + trap + ")", "`touch " + trap + "`",
		"; touch " + trap, "first\nclose ht-00 done", "tab\tand\x00zero", "\x1b[31mred\x1b[0m", "\u202eright to left\u202c", "bad \xff\xfe bytes",
		`"quoted" \ 'all' \" ways`, strings.Repeat("x", 10<<10), strings.Repeat("é", 400), strings.Repeat("😀 ", 300), " # no comment ", "{\"id\":\"ht-00\"}",
	}
	for n, title := range titles {
		i := task(fmt.Sprintf("ht-%02d", n))
		i.Title, i.Description = title, title
		err := errors.Join(w.Ensure(t.Context(), i),
			w.Note(t.Context(), beads.Comment{Issue: i.ID, Author: "hooktrail", Text: "about " + title, CreatedAt: epoch}),
			w.Transition(t.Context(), beads.Transition{Issue: i.ID, To: beads.Blocked, At: at(1)}))
		if err != nil {
			t.Fatalf("%.20q: %v", title, err)
		}
	}
	l.write(t)
	for n, title := range titles {
		id := fmt.Sprintf("ht-%02d", n)
		if err := errors.Join(
			w.Describe(t.Context(), id, title, at(2)),
			w.Note(t.Context(), beads.Comment{Issue: id, Author: "hooktrail", Text: "again " + title, CreatedAt: at(2)}),
			w.Transition(t.Context(), beads.Transition{Issue: id, To: beads.Closed, At: at(3), Reason: title})); err != nil {
			t.Fatalf("%.20q: %v", title, err)
		}
	}
	l.write(t)
	seen := l.seen(t, "acme")
	for n, title := range titles {
		got := seen[fmt.Sprintf("ht-%02d", n)]
		if got.Status != beads.Closed || len(got.Comments) != 2 {
			t.Errorf("%.20q: is %s with %d comments", title, got.Status, len(got.Comments))
		}
		if len(got.Title) > beads.MaxTitle || !utf8.ValidString(got.Title) || strings.ContainsAny(got.Title, "\n\x00\x1b") {
			t.Errorf("%.20q: title is %q", title, got.Title)
		}
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a title was run")
	}
	if len(seen) != len(titles) {
		t.Errorf("got %d issues, want %d", len(seen), len(titles))
	}
}

func TestEnsure_CutsTitles(t *testing.T) {
	for name, title := range map[string]string{
		"Long": strings.Repeat("0123456789", 1024), "Wide": strings.Repeat("é", 400), "Fits": strings.Repeat("x", 500),
	} {
		w := open(t, t.TempDir()).Workspace("acme")
		i := task("ht-1")
		i.Title, i.Description = title, "why"
		if err := w.Ensure(t.Context(), i); err != nil {
			t.Fatal(err)
		}
		got, err := w.Get(t.Context(), "ht-1")
		if err != nil {
			t.Fatal(err)
		}
		rest, cut := strings.CutPrefix(got.Description, "…")
		rest, _ = strings.CutSuffix(rest, "\n\nwhy")
		if !cut {
			rest = ""
		}
		if got.Title+rest != title || len(got.Title) != 500 {
			t.Errorf("%s: title of %d bytes, %d in the description", name, len(got.Title), len(rest))
		}
	}
}
