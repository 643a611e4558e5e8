package decision

import (
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/testkit/pythontest"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// BenchmarkDecision compares a decision over NATS on the loopback with starting python3
// -c pass, which every hook in Python needs. The goal is a fiftieth of that time.
func BenchmarkDecision(b *testing.B) {
	python := pythontest.Find(b)
	to := &recorder{}
	srv := natstest.Listen(b, b.TempDir(), natstest.Options{NoStreams: true})
	run(b, New(Options{Registry: answers(b, to, nil)}), srv.Connect(b))
	nc := srv.Connect(b)
	const (
		rounds = 9 // odd, so that the median is one of them
		spawns = 10
		n      = 500
	)
	b.ReportAllocs()
	var ratios, micros []float64
	decided := 0
	for b.Loop() {
		for range rounds {
			var spawn time.Duration
			for range spawns {
				spawn += pythontest.Spawn(b, python) / spawns
			}
			start := time.Now()
			for range n {
				if outcome(b, ask(b, nc, "acme", rm).Data).Verdict == hooks.Deny {
					decided++
				}
			}
			decision := time.Since(start) / n
			ratios = append(ratios, float64(decision)/float64(spawn))
			micros = append(micros, float64(decision)/float64(time.Microsecond))
		}
	}
	if recorded := len(to.all()); recorded != decided || decided%(n*rounds) != 0 || decided == 0 {
		b.Errorf("%d decisions, %d events", decided, recorded)
	}
	slices.Sort(ratios)
	slices.Sort(micros)
	b.ReportMetric(ratios[len(ratios)/2], "decision/spawn")
	b.ReportMetric(micros[len(micros)/2], "µs/decision")
	b.Logf("decision/spawn median %.4f, from %.4f to %.4f", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
}
