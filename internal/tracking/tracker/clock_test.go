package tracker

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

type memoryOutbox struct {
	mu   sync.Mutex // guards the fields below
	had  map[string]bool
	list []events.Event
}

func (h *memoryOutbox) Append(_ context.Context, e events.Event) (events.Event, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.had[e.ID] {
		return e, publish.ErrDuplicate
	}
	h.had[e.ID] = true
	h.list = append(h.list, e)
	return e, nil
}

func (h *memoryOutbox) ticks() []events.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.list
}

// There is one tick for all due timers of a quiet tenant. A new ticker does not repeat it.
func TestTicker_OncePerWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := projection.Open(t.Context(), filepath.Join(t.TempDir(), "tracker.db"), schema, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		began := time.Now()
		set := func(tenant, id string, in time.Duration) {
			err := db.Tx(t.Context(), func(conn *sqlite.Conn) error {
				return store.Run(conn, "INSERT INTO timer (tenant, id, at) VALUES (?, ?, ?)", tenant, id, store.Sortable(began.Add(in)))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		set("acme", "hold", 30*time.Second)
		set("acme", "stalled", 31*time.Second)
		set("beta", "hold", time.Hour)
		outbox, caught := &memoryOutbox{had: make(map[string]bool)}, new(atomic.Bool)
		life := func(d time.Duration) {
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			clock := newTicker(db, outbox, slog.New(slog.DiscardHandler), caught.Load)
			clock.noteEvents(map[string]bool{"acme": true, "beta": true})
			wg.Go(func() { clock.run(ctx) })
			time.Sleep(d)
			stop()
			wg.Wait()
		}
		for _, step := range []struct {
			name   string
			caught bool
			lasts  time.Duration
			want   int
		}{
			{"NothingIsDue", true, 31 * time.Second, 0}, // within the grace period and clockGrace
			{"NotReadYet", false, 10 * time.Second, 0},
			{"JustHeardOf", true, 4 * time.Second, 0},
			{"Due", true, 10 * time.Second, 1},
			{"NotAgain", true, time.Minute, 1},
			{"TheOther", true, time.Hour, 2},
			{"NeitherAgain", true, time.Hour, 2},
		} {
			caught.Store(step.caught)
			life(step.lasts)
			if got := len(outbox.ticks()); got != step.want {
				t.Fatalf("%s: %d ticks, want %d", step.name, got, step.want)
			}
		}
		first := outbox.ticks()[0]
		if !first.Time.Equal(began.Add(31*time.Second)) || first.Tenant != "acme" || first.Kind() != events.ClockTicked {
			t.Errorf("ticked %+v", first)
		}
		if _, err := events.Payload[events.ClockTickedData](first); err != nil {
			t.Error(err)
		}
	})
}

// A quiet stream ends a grace period in the real service.
func TestServe_TicksOnAQuietStream(t *testing.T) {
	p := newPipeline(t)
	failed := rulestest.StepAt(t, "beta", "r2", 3, "s1", events.StepFailed, "")
	failed.RunType, failed.Time = "TRIAGE", time.Now().Add(-27*time.Second).UTC()
	p.Publish("engine", failed)
	p.serveUntil(func() bool {
		list, err := List(t.Context(), p.DataDir, "beta")
		return err == nil && len(list) == 1
	})
	p.serveUntil(func() bool { return true })
	if n := len(p.Stored(events.ClockTicked)); n != 1 {
		t.Errorf("ticked %d times", n)
	}
	p.mustDrain()
	p.check()
}

// A drain ends the grace periods that are over by the wall clock, and no others.
func TestRun_ADrainEndsHolds(t *testing.T) {
	p := newPipeline(t)
	fresh := rulestest.StepAt(t, "gamma", "r3", 3, "s1", events.StepFailed, "")
	fresh.RunType, fresh.Time = "TRIAGE", time.Now().Add(time.Hour).UTC() // longer than this test
	p.Publish("engine", append(rulestest.Story(t), fresh)...)
	for range 2 {
		p.mustDrain()
		if n := len(p.Stored(events.ClockTicked)); n != 2 {
			t.Errorf("ticked %d times, want once for acme and once for beta", n)
		}
	}
	for tenant, want := range map[string]int{"acme": 5, "beta": 1, "gamma": 0} {
		if list, err := List(t.Context(), p.DataDir, tenant); err != nil || len(list) != want {
			t.Errorf("%s has %d issues, error %v; want %d", tenant, len(list), err, want)
		}
	}
	p.check()
}

func (p *pipeline) serveUntil(done func() bool, change ...func(*Options)) {
	p.TB.Helper()
	b, err := broker.Open(p.TB.Context(), broker.Options{URL: p.Server.URL(), DataDir: p.DataDir, Name: Name})
	if err != nil {
		p.TB.Fatal(err)
	}
	opts := Options{Broker: b, DataDir: p.DataDir}
	for _, c := range change {
		c(&opts)
	}
	ctx, stop := context.WithCancel(p.TB.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, opts) }()
	deadline := time.After(time.Minute)
	for tick := time.Tick(50 * time.Millisecond); !done(); {
		select {
		case <-tick:
		case err := <-ended:
			p.TB.Fatalf("ended by itself: %v", err)
		case <-deadline:
			p.TB.Error("nothing came of it")
			stop()
			p.TB.Fatalf("ended with %v", <-ended)
		}
	}
	stop()
	if err := <-ended; err != nil {
		p.TB.Fatal(err)
	}
	if err := b.Close(context.WithoutCancel(p.TB.Context())); err != nil {
		p.TB.Fatal(err)
	}
}
