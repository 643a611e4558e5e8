package outbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

func TestPublisher_Append(t *testing.T) {
	srv := natstest.Start(t)
	p := mustOpen(t, srv.Connect(t), testOptions(t, t.TempDir()))
	e := newEvent(1)
	e.ID, e.Time, e.Tenant, e.Subject = "", time.Time{}, "", ""
	e.Producer, e.Sequence, e.Salt = "forged", 77, "guessable"
	stored := mustAppend(t, p, e)
	if stored.ID == "" || stored.Time.IsZero() || stored.Tenant != "acme" || stored.Subject != "run-1" ||
		!strings.HasPrefix(stored.Producer, "test-") || stored.Sequence != 1 || stored.Salt == "guessable" {
		t.Errorf("stored as %+v", stored)
	}
	onlySubject := newEvent(2)
	onlySubject.Run, onlySubject.Subject = "", "run-9"
	if got := mustAppend(t, p, onlySubject); got.Run != "run-9" || got.Sequence != 2 {
		t.Errorf("stored as %+v", got)
	}
	mustClose(t, p)
	h := checkStream(t, srv)
	if len(h.events) != 2 || string(h.events[0].Encode()) != string(stored.Encode()) {
		t.Errorf("stream has %+v, want %+v", h.events, stored)
	}
	if _, err := p.Append(t.Context(), newEvent(3)); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}

func TestPublisher_Append_Refuses(t *testing.T) {
	p := mustOpen(t, natstest.Start(t).Connect(t), testOptions(t, t.TempDir()))
	for _, tt := range []struct {
		name   string
		change func(*events.Event)
		want   string
	}{
		{"ForeignTenant", func(e *events.Event) { e.Tenant = "other" }, "another tenant"},
		{"NoSource", func(e *events.Event) { e.Source = "" }, "source"},
		{"LongRun", func(e *events.Event) { e.Run = strings.Repeat("r", 300) }, "run id"},
		{"ControlCharacter", func(e *events.Event) { e.Agent = "a\x00" }, "agent"},
		{"NoJSON", func(e *events.Event) { e.Data = []byte("{") }, "data"},
		{"LargeAttributes", func(e *events.Event) { e.Agent = strings.Repeat("a", 1<<20) }, "attributes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEvent(1)
			tt.change(&e)
			_, err := p.Append(t.Context(), e)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to name %q", err, tt.want)
			}
		})
	}
	if s := p.Stats(); s.Appended != 0 {
		t.Errorf("%d events were taken", s.Appended)
	}
}

type redactorFunc func(*events.Event) error

func (f redactorFunc) Redact(e *events.Event) error { return f(e) }

func TestPublisher_Append_Redacts(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Redactor = redactorFunc(func(e *events.Event) error {
		if e.ID == "event-2" {
			return errors.New("rule broke")
		}
		return e.SetData(events.ToolBeforeData{Tool: "redacted"})
	})
	p := mustOpen(t, srv.Connect(t), opts)
	mustAppend(t, p, newEvent(1))
	if _, err := p.Append(t.Context(), newEvent(2)); err == nil || !strings.Contains(err.Error(), "rule broke") {
		t.Errorf("an event that could not be redacted: %v", err)
	}
	mustClose(t, p)
	h := checkStream(t, srv)
	if len(h.events) != 1 || !strings.Contains(string(h.events[0].Data), "redacted") {
		t.Errorf("stream has %+v", h.events)
	}
}

func TestPublisher_Append_Concurrent(t *testing.T) {
	srv := natstest.Start(t)
	for _, d := range []Durability{ProcessDurability, DiskDurability} {
		opts := testOptions(t, t.TempDir())
		opts.Tenant, opts.Durability, opts.SegmentBytes = "", d, 64<<10
		p := mustOpen(t, srv.Connect(t), opts)
		var wg sync.WaitGroup
		const callers, each = 8, 200
		for c := range callers {
			wg.Go(func() {
				for i := range each {
					e := newEvent(0)
					e.ID = fmt.Sprintf("%d-%d-%d", d, c, i)
					e.Tenant, e.Run = fmt.Sprintf("tenant-%d", c%3), fmt.Sprintf("run-%d", c)
					if _, err := p.Append(t.Context(), e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		mustClose(t, p)
		if s := p.Stats(); s.Acked != callers*each || s.Pending != 0 || s.Bytes != 0 {
			t.Errorf("stats %+v", s)
		}
	}
	h := checkStream(t, srv)
	next := map[string]int{}
	for _, e := range h.events {
		var d, c, i int
		if _, err := fmt.Sscanf(e.ID, "%d-%d-%d", &d, &c, &i); err != nil {
			t.Fatal(err)
		}
		caller := fmt.Sprint(d, c)
		if next[caller] != i {
			t.Fatalf("caller %s: event %d came, want %d", caller, i, next[caller])
		}
		next[caller]++
	}
	if len(h.events) != 2*8*200 || h.repeats > 0 {
		t.Errorf("%d events and %d repeats", len(h.events), h.repeats)
	}
}

//guarantee:broker-down
func TestPublisher_ServerDown(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir())
	url := srv.URL()
	srv.Stop()
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	p := mustOpen(t, nc, testOptions(t, t.TempDir()))
	start := time.Now()
	appendMany(t, p, 0, 10_000)
	t.Logf("10,000 appends with the server down took %v", time.Since(start))
	if s := p.Stats(); s.Pending != 10_000 {
		t.Errorf("stats %+v", s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("flush with the server down: %v", err)
	}
	srv.Restart(t)
	mustClose(t, p)
	h := checkStream(t, srv)
	h.wantEvents(t, 0, 10_000)
	if h.repeats > 0 {
		t.Errorf("%d repeats", h.repeats)
	}
}

//guarantee:broker-down
func TestPublisher_ServerRestarts(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir())
	opts := testOptions(t, t.TempDir())
	opts.BatchEvents = 50
	p := mustOpen(t, srv.Connect(t), opts)
	for round := range 5 {
		appendMany(t, p, round*1000, (round+1)*1000)
		acked := p.Stats().Acked
		until(t, "something is acknowledged", func() bool { return p.Stats().Acked > acked })
		srv.Stop()
		srv.Restart(t)
	}
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, 5000)
}

func TestOpen_SecondProcessWaits(t *testing.T) {
	srv := natstest.Start(t)
	nc := srv.Connect(t)
	opts := testOptions(t, t.TempDir())
	first := mustOpen(t, nc, opts)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, atomicbatch.Over(nc), opts)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrInUse) {
		t.Errorf("second open: %v", err)
	}
	waiting := opts
	waiting.LockWait = 50 * time.Millisecond
	_, err = Open(t.Context(), atomicbatch.Over(nc), waiting)
	if want := fmt.Sprintf("in use by process %d since 20", os.Getpid()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), want) {
		t.Errorf("with a limit: got %v, want %s", err, want)
	}
	opened := make(chan error, 1)
	go func() {
		second, err := Open(t.Context(), atomicbatch.Over(nc), opts)
		if err == nil {
			err = second.Close(t.Context())
		}
		opened <- err
	}()
	mustClose(t, first)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestOpen_KeepsProducer(t *testing.T) {
	srv := natstest.Start(t)
	nc := srv.Connect(t)
	opts := testOptions(t, t.TempDir())
	var producer string
	for round := range 3 {
		p := mustOpen(t, nc, opts)
		appendMany(t, p, round*10, round*10+10)
		mustClose(t, p)
		if producer == "" {
			producer = p.Stats().Producer
		}
		if got := p.Stats().Producer; got != producer {
			t.Errorf("producer %s became %s", producer, got)
		}
	}
	checkStream(t, srv).wantEvents(t, 0, 30)
}

func TestOpen_Refuses(t *testing.T) {
	nc := natstest.Start(t).Connect(t)
	for name, change := range map[string]func(*Options){
		"Dir":           func(o *Options) { o.Dir = "" },
		"Name":          func(o *Options) { o.Name = "" },
		"Redactor":      func(o *Options) { o.Redactor = nil },
		"BatchEvents":   func(o *Options) { o.BatchEvents = 5000 },
		"Full":          func(o *Options) { o.Full = 9 },
		"Durability":    func(o *Options) { o.Durability = 9 },
		"Tenant":        func(o *Options) { o.Tenant = strings.Repeat("t", 300) },
		"Quota":         func(o *Options) { o.Quota = -1 },
		"SubjectPrefix": func(o *Options) { o.SubjectPrefix = "mine" },
	} {
		opts := testOptions(t, t.TempDir())
		change(&opts)
		if _, err := Open(t.Context(), atomicbatch.Over(nc), opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("option %s: %v", name, err)
		}
	}
}

// Append allocates the id hash, the salt and the subject of an event, but no buffer. The race
// detector makes pools drop some of their buffers, so the cheapest of many calls counts.
func TestPublisher_Append_Allocations(t *testing.T) {
	opts := testOptions(t, t.TempDir())
	p := mustOpen(t, offline(t), opts)
	e := kilobyte(1)
	ctx := t.Context()
	allocated := math.Inf(1)
	for range 100 {
		allocated = min(allocated, testing.AllocsPerRun(1, func() {
			if _, err := p.Append(ctx, e); err != nil {
				t.Fatal(err)
			}
		}))
	}
	const most = 8
	if allocated > most {
		t.Errorf("%v allocations, at most %d are needed", allocated, most)
	}
}

func TestPublisher_ConnectionClosed(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	nc := srv.Connect(t)
	p := mustOpen(t, nc, opts)
	mustAppend(t, p, newEvent(0))
	mustFlush(t, p)
	nc.Close()
	mustAppend(t, p, newEvent(1))
	if err := p.Close(t.Context()); !errors.Is(err, transport.ErrConnectionClosed) {
		t.Errorf("close: %v", err)
	}
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	checkStream(t, srv).wantEvents(t, 0, 2)
}
