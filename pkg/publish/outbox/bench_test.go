package outbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const rounds = 9 // odd: the median is one of them

func median[T int | float64 | time.Duration](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

func reportRatios(b *testing.B, name string, ratios []float64) {
	b.Helper()
	b.ReportMetric(median(ratios), name)
	b.Logf("%-28s median %.3f, from %.3f to %.3f", name, median(ratios), slices.Min(ratios), slices.Max(ratios))
}

func kilobyte(n int) events.Event {
	e := newEvent(n)
	e.ID, e.Agent, e.Session, e.Step = events.NewID(), "coder", "session-1", "step-1"
	args, err := json.Marshal(strings.Repeat("some words of text ", 30))
	if err != nil {
		panic(err)
	}
	e.Data = fmt.Appendf(nil, `{"tool":"Bash","args":%s}`, args)
	return e
}

// paced calls do n times, a thousand times per second, and returns percentiles of its duration.
func paced(n int, do func(int)) (p50, p99 time.Duration) {
	took := make([]time.Duration, n)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		start := time.Now()
		do(i)
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[n/2], took[n*99/100]
}

// BenchmarkAppend compares Append with a synchronous publish to a server that always syncs. Goals:
// p50 0.10 and p99 0.25, also with the server down.
func BenchmarkAppend(b *testing.B) {
	srv := natstest.Listen(b, b.TempDir(), natstest.Options{MaxBytes: 1 << 30})
	js := srv.JetStream(b)
	opts := testOptions(b, b.TempDir())
	opts.Linger, opts.Logger = 0, nil
	process := mustOpen(b, srv.Connect(b), opts)
	opts.Dir, opts.Durability = b.TempDir(), DiskDurability
	disk := mustOpen(b, srv.Connect(b), opts)
	opts.Dir, opts.Durability = b.TempDir(), ProcessDurability
	down := mustOpen(b, offline(b), opts)
	const n = 400
	ratios := map[string][]float64{}
	appendTo := func(p *Publisher) func(int) {
		return func(i int) {
			if _, err := p.Append(b.Context(), kilobyte(i)); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		for range rounds {
			limit50, limit99 := paced(n, func(i int) {
				e := kilobyte(i)
				if _, err := js.Publish(b.Context(), "hooktrail.ev.limit.p.r.k", e.Encode()); err != nil {
					b.Fatal(err)
				}
			})
			for name, p := range map[string]*Publisher{"process": process, "disk": disk, "down": down} {
				p50, p99 := paced(n, appendTo(p))
				ratios[name+"-p50/publish"] = append(ratios[name+"-p50/publish"], float64(p50)/float64(limit50))
				ratios[name+"-p99/publish"] = append(ratios[name+"-p99/publish"], float64(p99)/float64(limit99))
			}
			mustFlush(b, process)
			mustFlush(b, disk)
		}
	}
	for _, name := range []string{"process", "down", "disk"} {
		reportRatios(b, name+"-p50/publish", ratios[name+"-p50/publish"])
		reportRatios(b, name+"-p99/publish", ratios[name+"-p99/publish"])
	}
	for name, p := range map[string]*Publisher{"process": process, "disk": disk} {
		if s := p.Stats(); s.Acked != s.Appended || s.Acked%(n*rounds) != 0 {
			b.Errorf("%s: %+v", name, s)
		}
	}
}

// BenchmarkForward compares the rate of the forwarder with PublishAsync and with single publishes
// to a server that always syncs. Goals: 8 and 9 times the rate.
func BenchmarkForward(b *testing.B) {
	srv := natstest.Listen(b, b.TempDir(), natstest.Options{MaxBytes: 4 << 30})
	const n = 4000
	var async, single, rates []float64
	for b.Loop() {
		for round := range rounds {
			limit := publishSingly(b, srv, n/10)
			limitAsync := publishAsync(b, srv, n/2)
			rate := forward(b, srv, n, round, false)
			single, async = append(single, rate/limit), append(async, rate/limitAsync)
			rates = append(rates, rate)
		}
	}
	b.ReportMetric(median(rates), "events/s")
	reportRatios(b, "forward/async", async)
	reportRatios(b, "forward/single", single)
}

// BenchmarkForwardSigned compares the rate of the forwarder with and without signatures. Goal:
// 0.97.
func BenchmarkForwardSigned(b *testing.B) {
	srv := natstest.Listen(b, b.TempDir(), natstest.Options{MaxBytes: 4 << 30})
	const n = 8000
	var ratios []float64
	for b.Loop() {
		for round := range rounds {
			// The order changes, because the server slows down as the stream grows.
			first := forward(b, srv, n, 2*round, round%2 == 0)
			second := forward(b, srv, n, 2*round+1, round%2 != 0)
			if round%2 == 0 {
				first, second = second, first
			}
			ratios = append(ratios, first/second)
		}
	}
	reportRatios(b, "signed/unsigned", ratios)
}

func publishSingly(b *testing.B, srv *natstest.Server, n int) float64 {
	b.Helper()
	js := srv.JetStream(b)
	start := time.Now()
	for i := range n {
		e := kilobyte(i)
		if _, err := js.Publish(b.Context(), "hooktrail.ev.limit.p.r.k", e.Encode()); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(start).Seconds()
}

func publishAsync(b *testing.B, srv *natstest.Server, n int) float64 {
	b.Helper()
	js, err := jetstream.New(srv.Connect(b), jetstream.WithPublishAsyncMaxPending(n))
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	var futures []jetstream.PubAckFuture
	for i := range n {
		e := kilobyte(i)
		f, err := js.PublishAsync("hooktrail.ev.limit.p.r.k", e.Encode())
		if err != nil {
			b.Fatal(err)
		}
		futures = append(futures, f)
	}
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(start).Seconds()
}

func forward(b *testing.B, srv *natstest.Server, n, round int, unsigned bool) float64 {
	b.Helper()
	opts := testOptions(b, b.TempDir())
	opts.unsigned = unsigned
	opts.Name, opts.Logger = fmt.Sprintf("bench-%d", round), nil
	p := mustOpen(b, offline(b), opts)
	for i := range n {
		if _, err := p.Append(b.Context(), kilobyte(i)); err != nil {
			b.Fatal(err)
		}
	}
	kill(p)
	p = mustOpen(b, srv.Connect(b), opts)
	start := time.Now()
	mustFlush(b, p)
	rate := float64(n) / time.Since(start).Seconds()
	if s := p.Stats(); s.Acked != uint64(n) {
		b.Fatalf("%+v", s)
	}
	mustClose(b, p)
	return rate
}
