package outbox

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// fill appends until the outbox is full and returns the number of the next event.
func fill(tb testing.TB, p *Publisher, from int) int {
	tb.Helper()
	for n := from; ; n++ {
		ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Millisecond)
		_, err := p.Append(ctx, newEvent(n))
		cancel()
		if errors.Is(err, ErrFull) {
			return n
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func appendShedding(tb testing.TB, p *Publisher, from, to int) (taken, shed []uint64) {
	tb.Helper()
	for n := from; n < to; n++ {
		e, err := p.Append(tb.Context(), newEvent(n))
		switch {
		case err == nil:
			taken = append(taken, e.Sequence)
		case errors.Is(err, ErrShed):
			shed = append(shed, e.Sequence)
		default:
			tb.Fatal(err)
		}
	}
	return taken, shed
}

//guarantee:outbox-full
func TestFull_Block(t *testing.T) {
	srv, nc := stoppedServer(t)
	opts := testOptions(t, t.TempDir())
	opts.Quota, opts.Full = 16<<10, Block
	p := mustOpen(t, nc, opts)
	n := fill(t, p, 0)
	if n < 10 || n > 50 {
		t.Errorf("%d events filled 16 KiB", n)
	}
	appended := make(chan error, 1)
	go func() {
		for i := n; i < n+100; i++ {
			if _, err := p.Append(t.Context(), newEvent(i)); err != nil {
				appended <- err
				return
			}
		}
		appended <- nil
	}()
	srv.Restart(t)
	if err := <-appended; err != nil {
		t.Fatal(err)
	}
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, n+100)
}

//guarantee:outbox-full
func TestFull_Fail(t *testing.T) {
	srv, nc := stoppedServer(t)
	opts := testOptions(t, t.TempDir())
	opts.Quota, opts.Full = 16<<10, Fail
	p := mustOpen(t, nc, opts)
	n := fill(t, p, 0)
	big := newEvent(n)
	if err := big.SetData(events.ToolBeforeData{Tool: strings.Repeat("x", 20<<10)}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Append(t.Context(), big); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an event larger than the quota: %v", err)
	}
	srv.Restart(t)
	mustFlush(t, p)
	if got := mustAppend(t, p, newEvent(n)); got.Sequence != uint64(n+1) {
		t.Errorf("a refused event took a number: next is #%d", got.Sequence)
	}
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, n+1)
}

//guarantee:outbox-full
func TestFull_Shed(t *testing.T) {
	for name, restart := range map[string]bool{"Running": false, "KilledMeanwhile": true} {
		t.Run(name, func(t *testing.T) {
			srv, nc := stoppedServer(t)
			opts := testOptions(t, t.TempDir())
			opts.Quota, opts.Full = 16<<10, Shed
			p := mustOpen(t, nc, opts)
			taken, shed := appendShedding(t, p, 0, 200)
			if restart {
				kill(p)
				p = mustOpen(t, nc, opts)
			} else if s := p.Stats(); s.Shed != uint64(len(shed)) {
				t.Errorf("stats %+v, want %d shed", s, len(shed))
			}
			srv.Restart(t)
			mustFlush(t, p)
			if got := mustAppend(t, p, newEvent(200)); got.Sequence != 202 { // #201 records the gap
				t.Errorf("went on with #%d", got.Sequence)
			}
			mustClose(t, p)
			h := checkStream(t, srv)
			if len(h.events) != len(taken)+1 {
				t.Errorf("%d events, want %d", len(h.events), len(taken)+1)
			}
			first, last := shed[0], shed[len(shed)-1]
			h.wantGap(t, first, last, state.ReasonShed)
			for _, list := range h.manifests {
				for _, m := range list {
					for _, r := range m.Missing {
						if r.Reason != state.ReasonShed || r.First != first || r.Last != last {
							t.Errorf("manifest lists %+v", r)
						}
					}
				}
			}
		})
	}
}

// By default, Append never waits for room. The log says once that the outbox is full.
//
//guarantee:outbox-full
func TestFull_Default(t *testing.T) {
	srv, nc := stoppedServer(t)
	opts := testOptions(t, t.TempDir())
	var log bytes.Buffer
	opts.Quota, opts.Logger = 16<<10, slog.New(slog.NewTextHandler(&log, nil))
	p := mustOpen(t, nc, opts)
	for n := 0; ; n++ {
		if _, err := p.Append(t.Context(), newEvent(n)); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Append(t.Context(), newEvent(1000)); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	srv.Restart(t)
	mustFlush(t, p)
	if _, err := p.Append(t.Context(), newEvent(1001)); err != nil {
		t.Error(err)
	}
	mustClose(t, p)
	if text := log.String(); strings.Count(text, "outbox is full") != 1 || strings.Count(text, "room again") != 1 {
		t.Errorf("log:\n%s", text)
	}
}

// Flush and Close do not wait for a stream that does not exist. The events stay, and later reach
// the stream.
//
//guarantee:no-stream
func TestClose_NoStream(t *testing.T) {
	srv := natstest.Start(t)
	nc := srv.Connect(t)
	opts := testOptions(t, t.TempDir())
	var log bytes.Buffer
	opts.StreamPrefix, opts.SubjectPrefix, opts.Logger = "ELSEWHERE_", "elsewhere.", slog.New(slog.NewTextHandler(&log, nil))
	p := mustOpen(t, nc, opts)
	if _, err := p.Append(t.Context(), newEvent(0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for name, end := range map[string]func(context.Context) error{"Flush": p.Flush, "Close": p.Close} {
		if err := end(ctx); !errors.Is(err, ErrNoStream) || ctx.Err() != nil || !strings.Contains(err.Error(), "hooktrail up") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if strings.Count(log.String(), "no stream for events") != 1 {
		t.Errorf("log:\n%s", &log)
	}
}

func TestParseFullPolicy(t *testing.T) {
	for _, p := range []FullPolicy{Block, Fail, Shed} {
		if got, err := ParseFullPolicy(p.String()); err != nil || got != p {
			t.Errorf("%s: got %v, error %v", p, got, err)
		}
	}
	for _, name := range []string{"", "Block", "never"} {
		if _, err := ParseFullPolicy(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// tinyDisk mounts a small file system or skips the test.
func tinyDisk(tb testing.TB, size string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := syscall.Mount("hooktrail-test", dir, "tmpfs", 0, "size="+size); err != nil {
		tb.Skipf("a tiny disk cannot be mounted: %v", err)
	}
	tb.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestFull_Disk(t *testing.T) {
	srv, nc := stoppedServer(t)
	opts := testOptions(t, filepath.Join(tinyDisk(t, "640k"), "outbox"))
	opts.SegmentBytes = 32 << 10
	p := mustOpen(t, nc, opts)
	n := fill(t, p, 0)
	t.Logf("%d events filled the disk", n)
	kill(p)
	p = mustOpen(t, nc, opts)
	if got := fill(t, p, n); got > n+200 {
		t.Errorf("took %d more events after opening", got-n)
	} else {
		n = got
	}
	srv.Restart(t)
	mustFlush(t, p)
	appendMany(t, p, n, n+100)
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, n+100)
}

//guarantee:outbox-full
func TestFull_DiskShed(t *testing.T) {
	srv, nc := stoppedServer(t)
	opts := testOptions(t, filepath.Join(tinyDisk(t, "640k"), "outbox"))
	opts.SegmentBytes, opts.Full = 32<<10, Shed
	p := mustOpen(t, nc, opts)
	_, shed := appendShedding(t, p, 0, 2000)
	lost := len(shed)
	srv.Restart(t)
	mustClose(t, p)
	h := checkStream(t, srv)
	if lost == 0 || len(h.events) != 2000-lost {
		t.Errorf("%d events lost, %d there", lost, len(h.events))
	}
	recorded := 0
	for _, g := range h.gaps {
		recorded += int(g.Last - g.First + 1)
	}
	if recorded != lost {
		t.Errorf("%d losses recorded, want %d", recorded, lost)
	}
}

//guarantee:broker-full
func TestFull_Stream(t *testing.T) {
	srv := natstest.Start(t, natstest.Options{MaxBytes: 100 << 10})
	opts := testOptions(t, t.TempDir())
	opts.BatchEvents = 20
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 1000)
	until(t, "the stream is full", func() bool { return p.Stats().LastError != nil })
	if err := p.Stats().LastError; !strings.Contains(err.Error(), "maximum bytes exceeded") {
		t.Errorf("waits for %v", err)
	}
	if s := p.Stats(); s.Acked == 0 || s.Pending == 0 {
		t.Errorf("stats %+v", s)
	}
	updateStream(t, srv, func(c *jetstream.StreamConfig) { c.MaxBytes = 64 << 20 })
	mustClose(t, p)
	if err := p.Stats().LastError; err != nil {
		t.Errorf("still waits for %v", err)
	}
	h := checkStream(t, srv)
	h.wantEvents(t, 0, 1000)
	if h.repeats > 0 {
		t.Errorf("%d repeats", h.repeats)
	}
}

//guarantee:broker-full
func TestFull_ServerDisk(t *testing.T) {
	store := filepath.Join(tinyDisk(t, "2m"), "store")
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	srv := natstest.Listen(t, store, natstest.Options{NoStreams: true})
	config := eventStream(srv)
	config.MaxBytes = 1500 << 10
	_, err := srv.JetStream(t).CreateStream(t.Context(), config)
	if err != nil {
		t.Skipf("the server does not begin on so small a disk: %v", err)
	}
	ballast := filepath.Join(filepath.Dir(store), "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1400<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := testOptions(t, t.TempDir())
	opts.AckWait = 300 * time.Millisecond
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 1500)
	until(t, "forwarding waits", func() bool { return p.Stats().LastError != nil })
	t.Logf("waits: %v", p.Stats().LastError)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	srv.Stop() // the server does not use a store again after a failure
	srv.Restart(t)
	mustClose(t, p)
	h := checkStream(t, srv)
	h.wantEvents(t, 0, 1500)
	t.Logf("%d events came again", h.repeats)
}
