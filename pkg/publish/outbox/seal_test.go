package outbox

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func finish(n int, run string) events.Event {
	e := newEvent(n)
	e.Run, e.Type, e.Data = run, events.RunFinished.Type(), []byte(`{"success":true}`)
	return e
}

func (h *history) sealCounts(tb testing.TB, run string) []uint64 {
	tb.Helper()
	var list []uint64
	for _, seal := range h.seals {
		if seal.Run == run {
			d, err := events.Payload[events.RunSealedData](seal)
			if err != nil {
				tb.Fatal(err)
			}
			list = append(list, d.Count)
		}
	}
	return list
}

func wantSeals(tb testing.TB, h *history, run string, want ...uint64) {
	tb.Helper()
	if got := h.sealCounts(tb, run); fmt.Sprint(got) != fmt.Sprint(want) {
		tb.Errorf("run %s was sealed with %v events, want %v", run, got, want)
	}
}

func TestSeal_AfterRunFinished(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.SealDelay = time.Hour
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 5) // run-1
	mustAppend(t, p, finish(5, "run-1"))
	other := newEvent(6)
	other.Run = "run-2"
	mustAppend(t, p, other)
	until(t, "the seal is acknowledged", func() bool { return p.Stats().Acked == 8 })
	wantSeals(t, checkStream(t, srv), "run-1", 6)

	appendMany(t, p, 7, 9) // run-1 continues
	until(t, "they are acknowledged", func() bool { return p.Stats().Acked == 10 })
	wantSeals(t, checkStream(t, srv), "run-1", 6)
	mustFlush(t, p)
	wantSeals(t, checkStream(t, srv), "run-1", 6, 8)
	mustFlush(t, p)
	mustClose(t, p)
	h := checkStream(t, srv)
	wantSeals(t, h, "run-1", 6, 8)
	wantSeals(t, h, "run-2")
}

func TestSeal_AfterQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := natstest.Start(t)
		opts := testOptions(t, t.TempDir())
		opts.SealDelay = 0 // the default
		p := mustOpen(t, srv.Connect(t), opts)
		mustAppend(t, p, finish(0, "run-1"))
		time.Sleep(time.Second)
		wantSeals(t, checkStream(t, srv), "run-1", 1)
		for n := range 4 {
			mustAppend(t, p, newEvent(n+1))
			time.Sleep(29 * time.Second)
		}
		wantSeals(t, checkStream(t, srv), "run-1", 1)
		time.Sleep(2 * time.Second)
		wantSeals(t, checkStream(t, srv), "run-1", 1, 5)
		mustClose(t, p)
	})
}

func TestSeal_AfterRestart(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.SealDelay = time.Hour
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 3)
	until(t, "they are acknowledged", func() bool { return p.Stats().Acked == 3 })
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustAppend(t, p, finish(3, "run-1"))
	mustFlush(t, p)
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 4, 6)
	until(t, "they are acknowledged", func() bool { return p.Stats().Acked == 2 })
	kill(p)
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	wantSeals(t, checkStream(t, srv), "run-1", 4, 6)
}

// The process is killed after the end of a run and before its seal is sent.
func TestSeal_KilledBetween(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir())
	nc := srv.Connect(t)
	opts := testOptions(t, t.TempDir())
	p := mustOpen(t, nc, opts)
	appendMany(t, p, 0, 3)
	mustFlush(t, p)
	mustAppend(t, p, finish(3, "run-1"))
	until(t, "the seal is in the outbox", func() bool { return p.Stats().Appended == 5 })
	srv.Stop()
	kill(p)
	for range 3 {
		kill(mustOpen(t, nc, opts))
	}
	srv.Restart(t)
	p = mustOpen(t, nc, opts)
	mustClose(t, p)
	wantSeals(t, checkStream(t, srv), "run-1", 4)
}

// The counters of idle runs continue after many other runs.
func TestSeal_IdleRuns(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.SealDelay, opts.runsInMemory, opts.BatchEvents = time.Hour, 10, 20
	const runs = 60
	run := func(n int) string { return fmt.Sprintf("run %d", n) }
	for round := range 4 {
		p := mustOpen(t, srv.Connect(t), opts)
		for n := range runs {
			e := newEvent(n)
			e.ID, e.Run = events.NewID(), run(n)
			if round == 1 {
				e = finish(n, run(n))
				e.ID = events.NewID()
			}
			mustAppend(t, p, e)
		}
		mustFlush(t, p)
		p.fwd.seals.mu.Lock()
		if n := len(p.fwd.seals.runs.InMemory()); n > 10+20 {
			t.Errorf("%d runs are in memory", n)
		}
		p.fwd.seals.mu.Unlock()
		if round%2 == 0 {
			kill(p)
		} else {
			mustClose(t, p)
		}
	}
	h := checkStream(t, srv)
	for n := range runs {
		wantSeals(t, h, run(n), 2, 3, 4)
	}
}
