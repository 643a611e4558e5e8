package outbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// With a limit, the outbox forgets the oldest ids, and remembers the latest ones even after a
// restart.
func TestUnique_Limit(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Unique, opts.UniqueLast, opts.SegmentBytes = true, 100, 2<<10
	p := mustOpen(t, srv.Connect(t), opts)
	for n := range 350 {
		if _, err := p.Append(t.Context(), newEvent(n)); err != nil {
			t.Fatal(err)
		}
		if n%10 == 0 {
			mustFlush(t, p)
		}
	}
	mustFlush(t, p)
	known := func(n int) bool {
		t.Helper()
		_, err := p.Append(t.Context(), newEvent(n))
		return errors.Is(err, ErrDuplicate)
	}
	for n := 250; n < 350; n++ {
		if !known(n) {
			t.Fatalf("event %d was taken again", n)
		}
	}
	mustClose(t, p)
	p = mustOpen(t, srv.Connect(t), opts)
	if !known(250) || !known(349) {
		t.Error("a late event was taken again after a restart")
	}
	if known(0) {
		t.Error("the first event is still known")
	}
	mustClose(t, p)
	for _, name := range []string{state.IDsName, state.PreviousIDsName} {
		info, err := os.Stat(filepath.Join(opts.Dir, name))
		if err != nil || info.Size() > 110*16 {
			t.Errorf("%s: got %v, %v, want some hundred ids", name, info, err)
		}
	}
}

func TestUnique(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Unique, opts.SegmentBytes = true, 2<<10
	again := func(p *Publisher, to int) (taken int) {
		t.Helper()
		for n := range to {
			_, err := p.Append(t.Context(), newEvent(n))
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, ErrDuplicate):
				t.Fatal(err)
			}
		}
		return taken
	}
	p := mustOpen(t, srv.Connect(t), opts)
	for round, want := range []int{50, 0} {
		if got := again(p, 50); got != want {
			t.Errorf("round %d: took %d events, want %d", round, got, want)
		}
	}
	mustFlush(t, p)
	if got := again(p, 60); got != 10 { // the last 10 wait when the process is killed
		t.Errorf("took %d events, want 10", got)
	}
	kill(p)
	p = mustOpen(t, offline(t), opts)
	if got := again(p, 70); got != 10 {
		t.Errorf("took %d events after a restart, want 10", got)
	}
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	p = mustOpen(t, srv.Connect(t), opts)
	if got := again(p, 70); got != 0 {
		t.Errorf("took %d events, want none", got)
	}
	other := newEvent(1)
	other.Tenant = "acme"
	if _, err := p.Append(t.Context(), other); !errors.Is(err, ErrDuplicate) {
		t.Errorf("got %v", err)
	}
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, 70)
}

func TestUnique_PerSource(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Unique = true
	p := mustOpen(t, srv.Connect(t), opts)
	a := newEvent(1)
	b := a
	b.Source = "/another"
	mustAppend(t, p, a)
	if _, err := p.Append(t.Context(), b); err != nil {
		t.Errorf("the event of another source: %v", err)
	}
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	for _, e := range []events.Event{a, b} {
		if _, err := p.Append(t.Context(), e); !errors.Is(err, ErrDuplicate) {
			t.Errorf("again, from %s: got %v", e.Source, err)
		}
	}
	mustClose(t, p)
}

func TestUnique_TornFile(t *testing.T) {
	for _, cut := range []int64{1, 17, 1 << 20} {
		srv := natstest.Start(t)
		opts := testOptions(t, t.TempDir())
		opts.Unique = true
		p := mustOpen(t, srv.Connect(t), opts)
		appendMany(t, p, 0, 20)
		mustFlush(t, p)
		kill(p)
		path := filepath.Join(opts.Dir, "ids")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, max(info.Size()-cut, 0)); err != nil {
			t.Fatal(err)
		}
		p = mustOpen(t, srv.Connect(t), opts)
		for n := range 20 {
			if _, err := p.Append(t.Context(), newEvent(n)); !errors.Is(err, ErrDuplicate) {
				t.Errorf("cut %d: event %d was taken again: %v", cut, n, err)
			}
		}
		mustClose(t, p)
		checkStream(t, srv).wantEvents(t, 0, 20)
	}
}

// With UniqueSame, an event cannot take the id of another one. Repetitions are still found, even
// after a restart and for events that an earlier version accepted.
//
//guarantee:id-taken
func TestUnique_Same(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Unique = true
	p := mustOpen(t, srv.Connect(t), opts)
	old := newEvent(7)
	mustAppend(t, p, old)
	mustClose(t, p)

	opts.UniqueSame = true
	p = mustOpen(t, srv.Connect(t), opts)
	first := newEvent(1)
	typed, content, run := first, first, first
	typed.Type = events.Custom.Type()
	if err := content.SetData(map[string]string{"tool": "another"}); err != nil {
		t.Fatal(err)
	}
	run.Run, run.Subject = "another", "another"
	all := []events.Event{first, typed, content, run}
	for _, e := range all {
		if _, err := p.Append(t.Context(), e); err != nil {
			t.Errorf("%s of run %s: %v", e.Type, e.Run, err)
		}
	}
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	for _, e := range append(all, old) {
		if _, err := p.Append(t.Context(), e); !errors.Is(err, ErrDuplicate) {
			t.Errorf("%s of run %s again: got %v", e.Type, e.Run, err)
		}
	}
	mustClose(t, p)
}
