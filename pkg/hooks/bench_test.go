package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const rounds = 9 // odd, so that the median is one of them

func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

func reportRatios(b *testing.B, name string, ratios []float64) {
	b.Helper()
	b.ReportMetric(median(ratios), name)
	b.Logf("%-28s median %.3f, from %.3f to %.3f", name, median(ratios), slices.Min(ratios), slices.Max(ratios))
}

func perCall(n int, do func()) time.Duration {
	start := time.Now()
	for range n {
		do()
	}
	return time.Since(start) / time.Duration(n)
}

func five(counts *[5]int) []func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
	list := make([]func(context.Context, Meta, ToolCall) (*ToolDecision, error), len(counts))
	for i := range list {
		list[i] = func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			counts[i]++
			return nil, nil
		}
	}
	return list
}

// limit is the simple implementation, with a goroutine and a WithTimeout for each hook.
type limit struct {
	fns      []func(context.Context, Meta, ToolCall) (*ToolDecision, error)
	matchers []Matcher
	names    []string
}

func (l *limit) dispatch(ctx context.Context, meta Meta, call ToolCall) []Execution {
	var executions []Execution
	for i, fn := range l.fns {
		if !l.matchers[i].Match(meta, Subject{Tool: call.Tool, Args: call.Args}) {
			continue
		}
		executions = append(executions, l.invoke(ctx, i, fn, meta, call))
	}
	return executions
}

func (l *limit) invoke(
	ctx context.Context, i int, fn func(context.Context, Meta, ToolCall) (*ToolDecision, error), meta Meta, call ToolCall,
) Execution {
	start := time.Now()
	ctx, stop := context.WithTimeout(ctx, DefaultTimeout)
	defer stop()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v", p)
			}
		}()
		_, err := fn(ctx, meta, call)
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return Execution{
		Hook: l.names[i], Point: events.ToolBefore, Success: err == nil,
		DurationMS: float64(time.Since(start).Microseconds()) / 1000,
	}
}

// BenchmarkDispatch compares a dispatch of five hooks with limit. The goal is 0.5.
func BenchmarkDispatch(b *testing.B) {
	var counts [5]int
	fns := five(&counts)
	patterns := []string{"*", "Ba*", "*sh", "B*s*h", "Bash"}
	r := NewRegistry(Options{})
	l := &limit{fns: fns}
	for i, fn := range fns {
		m, err := ForTool(patterns[i])
		if err != nil {
			b.Fatal(err)
		}
		l.matchers, l.names = append(l.matchers, m), append(l.names, string(ToolBefore.On(r, fn, Match(m))))
	}
	meta, call := Meta{Run: "run-1", Agent: "coder"}, ToolCall{ID: "c1", Tool: "Bash", Args: `{"command":"ls"}`}
	const n = 20_000
	var ratios, took []float64
	calls := 0
	for b.Loop() {
		for range rounds {
			slow := perCall(n, func() { sink = l.dispatch(b.Context(), meta, call) })
			fast := perCall(n, func() { sink = ToolBefore.Dispatch(b.Context(), r, meta, call).Executions })
			ratios, took = append(ratios, float64(fast)/float64(slow)), append(took, float64(fast))
			calls += 2 * n
		}
	}
	b.ReportMetric(median(took), "ns/dispatch")
	reportRatios(b, "dispatch/goroutines", ratios)
	for i, got := range counts {
		if got != calls {
			b.Errorf("hook %d called %d times, want %d", i, got, calls)
		}
	}
	if len(sink) != len(counts) || sink[4].Hook != l.names[4] {
		b.Errorf("executions %+v", sink)
	}
}

// sink keeps the compiler from removing the calls.
var sink []Execution

// encoder completes and encodes events like an outbox, but does not write them.
type encoder struct {
	buffer   []byte
	sequence uint64
	sum      int
}

func (a *encoder) Append(_ context.Context, e events.Event) (events.Event, error) {
	a.sequence++
	e.Producer, e.Sequence, e.Salt = "coder/e4", a.sequence, "AAECAwQFBgcICQoLDA0ODw"
	err := e.Normalize()
	a.buffer = e.Append(a.buffer[:0])
	a.sum += len(a.buffer)
	return e, err
}

// BenchmarkPreTool measures a tool call of 1 KB from five hooks with globs to the encoded event.
// One hook patches and one allows. The goal is 50 µs.
func BenchmarkPreTool(b *testing.B) {
	args, err := Marshal(map[string]string{"command": "go test ./...", "description": strings.Repeat("some words of text ", 50)})
	if err != nil {
		b.Fatal(err)
	}
	sh, err := ForTool("*sh")
	if err != nil {
		b.Fatal(err)
	}
	a := &encoder{}
	r := NewRegistry(Options{Appender: a})
	var called int
	for i := range 5 {
		d := map[int]*ToolDecision{1: {Patch: &ToolPatch{Args: args[:len(args)-1] + `,"timeout":60}`}}, 3: {Verdict: Allow, Reason: "tests"}}[i]
		ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			called++
			return d, nil
		}, Match(sh), Name("policy"))
	}
	meta, call := Meta{Tenant: "acme", Run: "run-1", Step: "step-1", Agent: "coder"}, ToolCall{ID: "c1", Tool: "Bash", Args: args}
	const n = 5_000
	var took []float64
	for b.Loop() {
		for range rounds {
			d := perCall(n, func() {
				if out := ToolBefore.Dispatch(b.Context(), r, meta, call); out.Verdict != Allow || !out.Modified || out.RecordErr != nil {
					b.Fatalf("got %+v", out)
				}
			})
			took = append(took, float64(d)/float64(50*time.Microsecond))
		}
	}
	reportRatios(b, "pre-tool/50µs", took)
	if got := uint64(len(took) * n); a.sequence != got || called != 5*len(took)*n || a.sum < 2500*int(got) {
		b.Errorf("%d dispatches: %d events of %d bytes, %d calls", got, a.sequence, a.sum, called)
	}
}
