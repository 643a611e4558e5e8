package publisher

import (
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/testkit/pythontest"
)

const hookDecisionGoal = 1.0 / 50

// BenchmarkHookDecision measures the time that a decision of the publisher adds to a
// hook command: connect to the socket, ask and read the response. The goal is a
// fiftieth of the time to start python3 -c pass.
func BenchmarkHookDecision(b *testing.B) {
	python := pythontest.Find(b)
	dir := b.TempDir()
	_, broker := open(b)
	service, err := NewHookService(parseHooks(b, hookclienttest.NoRemoval), &recorder{}, Options{DataDir: dir, Broker: broker})
	if err != nil {
		b.Fatal(err)
	}
	stop := service.Start(b.Context())
	defer func() {
		if err := stop(); err != nil {
			b.Error(err)
		}
	}()
	tool, err := agents.Named("claude-code")
	if err != nil {
		b.Fatal(err)
	}
	p, err := tool.Parse([]byte(hookclienttest.Removals[0].Payload), agents.Context{Tenant: "default"})
	if err != nil {
		b.Fatal(err)
	}
	const rounds, calls = 7, 100
	var ratios []float64
	for b.Loop() {
		for range rounds {
			spawn := pythontest.Spawn(b, python)
			took := make([]time.Duration, calls)
			for i := range took {
				began := time.Now()
				if out, err := hookclient.Ask(b.Context(), dir, tool, p.Document); err != nil || out.Verdict != "deny" {
					b.Fatalf("got %v, %v", out, err)
				}
				took[i] = time.Since(began)
			}
			slices.Sort(took)
			ratios = append(ratios, float64(took[calls/2])/float64(spawn)/hookDecisionGoal)
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "p50/limit")
	b.Logf("a decision: %.2f of its limit at the median, from %.2f to %.2f", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
}
