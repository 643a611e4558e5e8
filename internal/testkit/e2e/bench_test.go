package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

const (
	benchRounds = 9 // odd, for the median
	benchCalls  = 1000
	preToolGoal = 50 * time.Microsecond
)

// BenchmarkPreTool measures the dispatch of a tool call of 1 KB: five hooks with globs, of which
// one patches and one allows, redaction, encoding, and the outbox of a running publisher. The goal
// is a median of 50 µs for consecutive calls. Calls after a pause take longer.
func BenchmarkPreTool(b *testing.B) {
	for name, pause := range map[string]time.Duration{"steady": time.Nanosecond, "1000/s": time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			registry, call := preTool(b)
			var p50s, p99s []float64
			for b.Loop() {
				for range benchRounds {
					took := timeCalls(b, registry, call, pause)
					p50s = append(p50s, float64(took[benchCalls/2])/float64(preToolGoal))
					p99s = append(p99s, float64(took[benchCalls*99/100])/float64(preToolGoal))
				}
			}
			for name, ratios := range map[string][]float64{"p50/50µs": p50s, "p99/50µs": p99s} {
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], name)
				b.Logf("%s: median %.2f, from %.2f to %.2f", name, ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
			}
		})
	}
}

func timeCalls(b *testing.B, registry *hooks.Registry, call hooks.ToolCall, pause time.Duration) []time.Duration {
	b.Helper()
	took := make([]time.Duration, benchCalls)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	meta := hooks.Meta{Tenant: "acme", Run: "run-1", Step: "step-1"}
	for i := range took {
		<-tick.C
		start := time.Now()
		out := hooks.ToolBefore.Dispatch(b.Context(), registry, meta, call)
		took[i] = time.Since(start)
		if out.Verdict != hooks.Allow || !out.Modified || out.RecordErr != nil {
			b.Fatalf("got verdict %s, modified %v, %v", out.Verdict, out.Modified, out.RecordErr)
		}
	}
	slices.Sort(took)
	return took
}

func preTool(b *testing.B) (*hooks.Registry, hooks.ToolCall) {
	b.Helper()
	redactor, err := redact.New(redact.Options{})
	if err != nil {
		b.Fatal(err)
	}
	srv := natstest.Listen(b, b.TempDir(), natstest.Options{MaxBytes: 1 << 30})
	p, err := publish.Open(b.Context(), srv.Connect(b), publish.Options{Dir: b.TempDir(), Name: "engine", Redactor: redactor})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			b.Errorf("close publisher: %v", err)
		}
	})
	args, err := hooks.Marshal(map[string]string{"command": "go test ./...", "description": strings.Repeat("some words of text ", 50)})
	if err != nil {
		b.Fatal(err)
	}
	shell, err := hooks.ForTool("*sh")
	if err != nil {
		b.Fatal(err)
	}
	registry := hooks.NewRegistry(hooks.Options{Appender: p})
	for i := range 5 {
		answer := map[int]*hooks.Decision[hooks.ToolPatch]{
			1: {Patch: &hooks.ToolPatch{Args: args[:len(args)-1] + `,"timeout":60}`}},
			3: {Verdict: hooks.Allow, Reason: "tests"},
		}[i]
		hooks.ToolBefore.On(registry, func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
			return answer, nil
		}, hooks.Match(shell), hooks.Name("policy"))
	}
	return registry, hooks.ToolCall{ID: "c1", Tool: "Bash", Args: args}
}
