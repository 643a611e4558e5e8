package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

func sharedOptions() SharedOptions {
	return SharedOptions{Redactor: NoRedaction, Tenant: "acme"}
}

func mustShare(tb testing.TB, dir string, from, to int) {
	tb.Helper()
	for n := from; n < to; n++ {
		stored, err := AppendShared(tb.Context(), dir, sharedOptions(), newEvent(n))
		if err != nil {
			tb.Fatal(err)
		}
		if want := uint64(n + 1); stored[0].Sequence != want {
			tb.Fatalf("event %d: number %d, want %d", n, stored[0].Sequence, want)
		}
	}
}

func mustOpenShared(tb testing.TB, srv *natstest.Server, dir string) *Publisher {
	tb.Helper()
	opts := testOptions(tb, dir)
	opts.Name, opts.Tenant = "", ""
	return mustOpenSharedWith(tb, srv, opts)
}

func mustOpenSharedWith(tb testing.TB, srv *natstest.Server, opts Options) *Publisher {
	tb.Helper()
	p, err := OpenShared(tb.Context(), atomicbatch.Over(srv.Connect(tb)), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { kill(p) })
	return p
}

func checkShared(tb testing.TB, srv *natstest.Server, count int) {
	tb.Helper()
	h := checkStream(tb, srv)
	if len(h.events) != count || len(h.gaps) > 0 {
		tb.Fatalf("%d events and gaps %+v, want %d and none", len(h.events), h.gaps, count)
	}
	for n, e := range h.events {
		if want := "event-" + strconv.Itoa(n); e.ID != want {
			tb.Fatalf("event %d is %s, want %s", n, e.ID, want)
		}
	}
}

func TestAppendShared(t *testing.T) {
	srv := natstest.Start(t)
	dir := filepath.Join(t.TempDir(), "shared")
	for n := range 10 {
		stored, err := AppendShared(t.Context(), dir, sharedOptions(), newEvent(2*n), newEvent(2*n+1))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range stored {
			if want := uint64(2*n + i + 1); e.Sequence != want {
				t.Errorf("number %d, want %d", e.Sequence, want)
			}
		}
	}
	p := mustOpenShared(t, srv, dir)
	mustClose(t, p)
	mustShare(t, dir, 20, 25)
	mustClose(t, mustOpenShared(t, srv, dir))
	checkShared(t, srv, 25)
	if got := p.Stats().Producer; got != producerOf(t, dir) {
		t.Errorf("producer %s after a clean end, was %s", producerOf(t, dir), got)
	}
}

func producerOf(tb testing.TB, dir string) string {
	tb.Helper()
	id, err := readIdentity(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return id.Producer
}

func TestOpenShared_FollowsTheOthers(t *testing.T) {
	srv := natstest.Start(t)
	dir := t.TempDir()
	opts := testOptions(t, dir)
	opts.SegmentBytes = 2 << 10
	p := mustOpenSharedWith(t, srv, opts)
	for n := 0; n < 60; n += 2 {
		mustShare(t, dir, n, n+1)
		if stored := mustAppend(t, p, newEvent(n+1)); stored.Sequence != uint64(n+2) {
			t.Fatalf("number %d, want %d", stored.Sequence, n+2)
		}
		if n%20 == 0 {
			until(t, "the stream has it", func() bool { return p.Stats().Acked > uint64(n+1) })
		}
	}
	mustShare(t, dir, 60, 65)
	until(t, "all arrived and left the outbox", func() bool { s := p.Stats(); return s.Acked == 65 && s.Pending == 0 })
	if s := p.Stats(); s.Bytes != 0 || s.Appended != 65 {
		t.Errorf("stats %+v", s)
	}
	checkShared(t, srv, 65)
	if n := len(segments(t, dir)); n > 3 {
		t.Errorf("%d segments are kept of what has arrived", n)
	}
}

// After a kill at any moment, the next process continues after the last complete record.
//
//guarantee:shared-outbox
func TestAppendShared_KilledAnywhere(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string) (happened int){
		"HalfARecord": func(t *testing.T, dir string) int {
			t.Helper()
			whole := firstRecord(t, dir)
			appendFile(t, lastSegment(t, dir), whole[:len(whole)/2])
			return 0
		},
		"HalfAHeader": func(t *testing.T, dir string) int {
			t.Helper()
			appendFile(t, lastSegment(t, dir), firstRecord(t, dir)[:segment.HeaderBytes/2])
			return 0
		},
		"BeforeTail": func(t *testing.T, dir string) int {
			t.Helper()
			before := readTailFile(t, dir)
			mustShare(t, dir, 5, 6)
			rewriteFile(t, tailPath(t, dir), func([]byte) []byte { return before })
			return 1
		},
		"BeforeTailInNewSegment": func(t *testing.T, dir string) int {
			t.Helper()
			before := readTailFile(t, dir)
			o := sharedOptions()
			o.SegmentBytes = 1 // each record begins a segment
			if _, err := AppendShared(t.Context(), dir, o, newEvent(5)); err != nil {
				t.Fatal(err)
			}
			rewriteFile(t, tailPath(t, dir), func([]byte) []byte { return before })
			return 1
		},
		"HalfATail": func(t *testing.T, dir string) int {
			t.Helper()
			rewriteFile(t, tailPath(t, dir), func(b []byte) []byte { b[state.TailHeader+5] ^= 1; return b })
			return 0
		},
		"NoTail": func(t *testing.T, dir string) int {
			t.Helper()
			if err := os.Remove(tailPath(t, dir)); err != nil {
				t.Fatal(err)
			}
			return 0
		},
	} {
		for _, forwards := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/forwards=%t", name, forwards), func(t *testing.T) {
				srv := natstest.Start(t)
				dir := t.TempDir()
				mustShare(t, dir, 0, 5)
				if forwards {
					p := mustOpenShared(t, srv, dir)
					defer mustClose(t, p)
				}
				n := 5 + damage(t, dir)
				mustShare(t, dir, n, n+5)
				if !forwards {
					mustClose(t, mustOpenShared(t, srv, dir))
				}
				until(t, "all arrived", func() bool { return len(srv.Messages(t)) > n+5 })
				checkShared(t, srv, n+5)
			})
		}
	}
}

func folderOf(tb testing.TB, dir string) string {
	tb.Helper()
	return identity{Producer: producerOf(tb, dir)}.dir(dir)
}

func tailPath(tb testing.TB, dir string) string {
	tb.Helper()
	return filepath.Join(folderOf(tb, dir), state.TailName)
}

func readTailFile(tb testing.TB, dir string) []byte {
	tb.Helper()
	b, err := os.ReadFile(tailPath(tb, dir))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func lastSegment(tb testing.TB, dir string) string {
	tb.Helper()
	list := segments(tb, dir)
	return list[len(list)-1]
}

func firstRecord(tb testing.TB, dir string) []byte {
	tb.Helper()
	b, err := os.ReadFile(lastSegment(tb, dir))
	if err != nil {
		tb.Fatal(err)
	}
	_, to := recordAt(tb, b, 0)
	return b[:to]
}

func appendFile(tb testing.TB, path string, b []byte) {
	tb.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		tb.Fatal(err)
	}
}

func TestOpenShared_OneForwards(t *testing.T) {
	srv := natstest.Start(t)
	dir := t.TempDir()
	first := mustOpenShared(t, srv, dir)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := OpenShared(short, atomicbatch.Over(srv.Connect(t)), testOptions(t, dir)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("second: got %v, want %v", err, context.DeadlineExceeded)
	}
	mustShare(t, dir, 0, 10)
	until(t, "all arrived", func() bool { return first.Stats().Acked == 10 })
	kill(first)
	mustShare(t, dir, 10, 20)
	second := mustOpenShared(t, srv, dir)
	mustShare(t, dir, 20, 30)
	mustClose(t, second)
	checkShared(t, srv, 30)
}

// After a power cut during forwarding, unsent events get new numbers. Processes can append before
// and during the renumbering.
func TestOpenShared_PowerCut(t *testing.T) {
	srv := natstest.Start(t)
	dir := t.TempDir()
	opts := testOptions(t, dir)
	opts.bootID = bootID("boot-1")
	p := mustOpenSharedWith(t, srv, opts)
	mustShare(t, dir, 0, 10)
	mustFlush(t, p)
	producer := p.Stats().Producer
	kill(p)
	opts.bootID = bootID("boot-2")
	mustShare(t, dir, 10, 15)
	p = mustOpenSharedWith(t, srv, opts)
	until(t, "numbers are new", func() bool { return p.Stats().Producer != producer })
	stored, err := AppendShared(t.Context(), dir, sharedOptions(), newEvent(15))
	if err != nil {
		t.Fatal(err)
	}
	if e := stored[0]; e.Producer == producer || e.Sequence != 6 {
		t.Errorf("%s is #%d of %s, want #6 of the new one", e.ID, e.Sequence, e.Producer)
	}
	mustClose(t, p)
	checkShared(t, srv, 16)
}

func TestAppendShared_Refuses(t *testing.T) {
	dir := t.TempDir()
	other := newEvent(1)
	other.Tenant = "globex"
	everyone := SharedOptions{Redactor: NoRedaction}
	for name, tt := range map[string]struct {
		opts SharedOptions
		list []events.Event
		want error
	}{
		"NoRedactor":    {SharedOptions{}, []events.Event{newEvent(0)}, nil},
		"ForeignTenant": {sharedOptions(), []events.Event{other}, ErrForeignTenant},
		"TwoTenants":    {everyone, []events.Event{newEvent(0), other}, ErrForeignTenant},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := AppendShared(t.Context(), dir, tt.opts, tt.list...)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	lock, err := disk.OpenMutex(Options{Dir: dir}.appendLock())
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := AppendShared(short, dir, sharedOptions(), newEvent(0)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another process appends: got %v, want %v", err, context.DeadlineExceeded)
	}
	lock.Unlock()
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	mustShare(t, dir, 0, 1)
}
