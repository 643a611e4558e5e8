package beads_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

func TestBD_CommentsAreWrittenOnce(t *testing.T) {
	for name, order := range map[string]string{"Asked": "", "Unasked": orderFirst} {
		t.Run(name, func(t *testing.T) {
			d := openBDFixture(t)
			d.order(t, order)
			w := d.ensure(t, "ht-1")
			d.write(t)
			for n := range 3 {
				if err := w.Note(t.Context(), beads.Comment{Issue: "ht-1", Author: "hooktrail", Text: fmt.Sprint(n), CreatedAt: at(n)}); err != nil {
					t.Fatal(err)
				}
				d.write(t)
			}
			if got := len(d.seen(t, "acme")["ht-1"].Comments); got != 3 {
				t.Errorf("got %d comments, want 3", got)
			}
		})
	}
}

func TestBD_AnotherVersionMeanwhile(t *testing.T) {
	d := openBDFixture(t)
	d.order(t, orderFirst)
	w := d.ensure(t, "ht-1")
	note := func(text string) {
		if err := w.Note(t.Context(), beads.Comment{Issue: "ht-1", Author: "hooktrail", Text: text, CreatedAt: epoch}); err != nil {
			t.Fatal(err)
		}
	}
	note("before")
	d.write(t)
	d.order(t, "")
	note("after")
	if err := d.backend.Export(t.Context()); !errors.Is(err, beads.ErrTransient) {
		t.Errorf("got %v", err)
	}
	d.write(t)
	if got := d.seen(t, "acme")["ht-1"].Comments; len(got) != 2 {
		t.Errorf("got %d comments, want 2", len(got))
	}
	if got, err := w.Get(t.Context(), "ht-1"); err != nil || len(got.Comments) != 2 {
		t.Errorf("kept are %d comments, want 2: %v", len(got.Comments), err)
	}
}

// TestBD_RefusedForAWhile tests that an export counts as one try, because the cause may pass.
func TestBD_RefusedForAWhile(t *testing.T) {
	d := openBDFixture(t)
	d.ensure(t, "ht-1")
	d.write(t)
	d.order(t, orderFail)
	d.ensure(t, "ht-2")
	for range 2 {
		if err := d.backend.Export(t.Context()); !errors.Is(err, beads.ErrTransient) {
			t.Errorf("got %v", err)
		}
	}
	d.order(t, "")
	d.write(t)
	if len(d.seen(t, "acme")) != 2 {
		t.Error("an issue was given up after two tries")
	}
}
