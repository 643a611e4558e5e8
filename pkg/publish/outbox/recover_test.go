package outbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

func segments(tb testing.TB, dir string) []string {
	tb.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*", "*"+segment.Suffix))
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func rewriteFile(tb testing.TB, path string, edit func([]byte) []byte) {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, edit(data), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func copyDir(tb testing.TB, from string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil && !errors.Is(err, fs.ErrExist) {
		tb.Fatal(err)
	}
	return to
}

// recordAt returns the start and the end of the n-th record of a segment.
func recordAt(tb testing.TB, data []byte, n int) (from, to int) {
	tb.Helper()
	for {
		it, err := segment.Scan(data[from:])
		if err != nil || it.Fault != segment.Intact {
			tb.Fatalf("record %d: fault %d, %v", n, it.Fault, err)
		}
		if n == 0 {
			return from, from + it.Size
		}
		from += it.Size
		n--
	}
}

//guarantee:append-killed
func TestRecover_KilledProcess(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.SegmentBytes = 4 << 10
	appendOffline(t, opts, 0, 100)
	p := mustOpen(t, offline(t), opts)
	if s := p.Stats(); s.Pending != 100 || s.Damaged != 0 {
		t.Errorf("stats %+v", s)
	}
	appendMany(t, p, 100, 150)
	kill(p)
	appendOnline(t, srv, opts, 150, 200)
	checkStream(t, srv).wantEvents(t, 0, 200)
	if left := segments(t, opts.Dir); len(left) != 1 {
		t.Errorf("acknowledged segments are left: %v", left)
	}
}

func TestRecover_TornTail(t *testing.T) {
	for _, cut := range []int{1, 20, 50, 150} {
		srv := natstest.Start(t)
		opts := testOptions(t, t.TempDir())
		appendOffline(t, opts, 0, 10)
		rewriteFile(t, segments(t, opts.Dir)[0], func(b []byte) []byte {
			from, to := recordAt(t, b, 9)
			return b[:max(from+1, to-cut)]
		})
		appendOnline(t, srv, opts, 9, 12)
		h := checkStream(t, srv)
		h.wantEvents(t, 0, 12)
		if len(h.gaps) > 0 {
			t.Errorf("cut %d: gaps %+v", cut, h.gaps)
		}
	}
}

// After a power cut, the stream can have numbers that the disk has lost.
//
//guarantee:append-power
func TestRecover_PowerCut(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.bootID = bootID("boot-1")
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 10)
	mustFlush(t, p)
	producer := p.Stats().Producer
	kill(p)
	appendOffline(t, opts, 10, 20)

	opts.bootID = bootID("boot-2")
	appendOffline(t, opts, 20, 25)
	opts.bootID = bootID("boot-3")
	p = appendOnline(t, srv, opts, 25, 30)
	if p.Stats().Producer == producer {
		t.Error("kept the producer id")
	}
	producer = p.Stats().Producer
	h := checkStream(t, srv)
	h.wantEvents(t, 0, 30)
	if len(h.manifests) != 2 {
		t.Errorf("%d producers", len(h.manifests))
	}

	// The producer id stays after a clean end and after a killed process.
	opts.bootID = bootID("boot-4")
	p = mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 30, 35)
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	if p.Stats().Producer != producer {
		t.Error("took a new producer id without need")
	}
	checkStream(t, srv).wantEvents(t, 0, 35)
}

// The stream stored events before a power cut, but its answer was lost. They are not sent again
// under the new producer id.
//
//guarantee:append-power
func TestRecover_PowerCutAfterBatchWasStored(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.bootID = bootID("boot-1")
	appendOffline(t, opts, 0, 10)
	before := copyDir(t, opts.Dir)
	p := mustOpen(t, srv.Connect(t), opts)
	mustFlush(t, p)
	kill(p)
	opts.Dir, opts.bootID = before, bootID("boot-2")
	appendOnline(t, srv, opts, 10, 20)
	checkStream(t, srv).wantEvents(t, 0, 20)
}

// The answer to a batch was lost. The outbox finds the batch in the stream.
func TestRecover_StoredButNotNoted(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.BatchEvents = 4
	appendOffline(t, opts, 0, 10)
	before := copyDir(t, opts.Dir)
	p := mustOpen(t, srv.Connect(t), opts)
	producer := p.Stats().Producer
	mustFlush(t, p)
	kill(p)
	opts.Dir = before
	p = appendOnline(t, srv, opts, 10, 20)
	if p.Stats().Producer != producer {
		t.Error("took a new producer id")
	}
	h := checkStream(t, srv)
	h.wantEvents(t, 0, 20)
	if h.repeats > 0 {
		t.Errorf("%d repeats", h.repeats)
	}
}

// The outbox is an older copy than the stream.
//
//guarantee:outbox-damaged
func TestRecover_RolledBack(t *testing.T) {
	for name, waiting := range map[string]int{"Empty": 0, "Waiting": 5} {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Start(t)
			opts := testOptions(t, t.TempDir())
			appendOnline(t, srv, opts, 0, 10)
			old := copyDir(t, opts.Dir)
			p := mustOpen(t, srv.Connect(t), opts)
			producer := p.Stats().Producer
			appendMany(t, p, 10, 20)
			mustClose(t, p)

			opts.Dir = old
			appendOffline(t, opts, 20, 20+waiting)
			p = appendOnline(t, srv, opts, 20+waiting, 30)
			if p.Stats().Producer == producer {
				t.Error("kept the producer id")
			}
			checkStream(t, srv).wantEvents(t, 0, 30)
		})
	}
}

//guarantee:outbox-damaged
func TestRecover_Copied(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	appendOnline(t, srv, opts, 0, 10)
	twin := opts
	twin.Dir = copyDir(t, opts.Dir)
	a, b := mustOpen(t, srv.Connect(t), opts), mustOpen(t, srv.Connect(t), twin)
	for n := 10; n < 40; n += 2 {
		mustAppend(t, a, newEvent(n))
		mustFlush(t, a)
		mustAppend(t, b, newEvent(n+1))
		mustFlush(t, b)
	}
	mustClose(t, a)
	mustClose(t, b)
	if a.Stats().Producer == b.Stats().Producer {
		t.Error("both kept the producer id")
	}
	h := checkStream(t, srv)
	h.wantEvents(t, 0, 40)
}

// The numbers continue after the stream has removed all events of the producer.
func TestRecover_NoManifestLeft(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{AllowTamper: true})
	opts := testOptions(t, t.TempDir())
	appendOnline(t, srv, opts, 0, 10)
	stream, err := srv.JetStream(t).Stream(t.Context(), srv.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := mustOpen(t, srv.Connect(t), opts)
	if got := mustAppend(t, p, newEvent(10)); got.Sequence != 11 {
		t.Errorf("went on with #%d", got.Sequence)
	}
	mustFlush(t, p)
	msgs := srv.Messages(t)
	m, err := events.DecodeManifest(msgs[len(msgs)-1].Data)
	if err != nil || len(msgs) != 2 || m.First != 11 || m.Last != 11 || m.Prev == "" {
		t.Errorf("%d messages, manifest %+v, %v", len(msgs), m, err)
	}
}
