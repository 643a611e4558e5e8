package hooks

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Hooks that use all of their time leave a guard enough of it, within the time of the chain or of
// the caller.
//
//guarantee:guard-has-time
func TestShare_LaterGuardsHaveTime(t *testing.T) {
	tests := map[string]struct {
		slow    int
		timeout time.Duration // of each slow hook
		caller  time.Duration // 0 for no deadline
		guards  []time.Duration
		last    bool
		want    time.Duration // for each guard
	}{
		"Last":            {slow: 20, timeout: 5 * time.Second, guards: []time.Duration{5 * time.Second}, last: true, want: 5 * time.Second},
		"LastOfMany":      {slow: 20, timeout: 5 * time.Second, guards: []time.Duration{10 * time.Second, time.Second, time.Second}, last: true, want: time.Second},
		"LongGuard":       {slow: 2, timeout: 20 * time.Second, guards: []time.Duration{25 * time.Second}, last: true, want: 15 * time.Second},
		"InOrder":         {slow: 6, timeout: 5 * time.Second, guards: []time.Duration{5 * time.Second}, want: time.Second},
		"LongThenShort":   {slow: 1, timeout: 29 * time.Second, guards: []time.Duration{5 * time.Second}, want: time.Second},
		"CallerLeaves":    {slow: 3, timeout: 5 * time.Second, caller: 2 * time.Second, guards: []time.Duration{5 * time.Second}, last: true, want: time.Second},
		"CallerIsInHurry": {slow: 3, timeout: 5 * time.Second, caller: 100 * time.Millisecond, guards: []time.Duration{5 * time.Second}, want: 6 * time.Millisecond},
	}
	for name, tt := range tests {
		for level, isolate := range isolations {
			if level == "External" {
				continue // these have Grace too
			}
			t.Run(name+level, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := tidy(t, NewRegistry(Options{}))
					for i := range tt.slow {
						ToolBefore.On(r, func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
							<-ctx.Done()
							return nil, nil
						}, Name(fmt.Sprint("slow", i)), Timeout(tt.timeout), isolate)
					}
					reached := 0
					for _, timeout := range tt.guards {
						opts := []Option{Name("guard"), Timeout(timeout), isolate}
						if tt.last {
							opts = append(opts, Last())
						}
						ToolBefore.On(r, func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
							reached++
							if d, _ := ctx.Deadline(); time.Until(d) < tt.want {
								t.Errorf("guard %d has %s, want %s", reached, time.Until(d), tt.want)
							}
							return nil, ctx.Err()
						}, opts...)
					}
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if tt.caller > 0 {
						ctx, cancel = context.WithTimeout(ctx, tt.caller)
					}
					defer cancel()
					start := time.Now()
					ToolBefore.Dispatch(ctx, r, somewhere, ToolCall{})
					if took := time.Since(start); reached != len(tt.guards) || took > DefaultChainTimeout {
						t.Errorf("%d guards reached after %s", reached, took)
					}
				})
			})
		}
	}
}

// A chain that fits its time keeps the timeouts of its hooks.
func TestShare_HooksThatFitKeepTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tidy(t, NewRegistry(Options{}))
		var had []time.Duration
		look := func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
			d, _ := ctx.Deadline()
			had = append(had, time.Until(d))
			return nil, nil
		}
		never, err := ForTool("Write")
		if err != nil {
			t.Fatal(err)
		}
		ToolBefore.On(r, look, Timeout(20*time.Second))
		ToolBefore.On(r, look, Timeout(25*time.Second), Match(never))
		ToolBefore.On(r, look, Timeout(5*time.Second), Last())
		ToolBefore.On(r, look, Timeout(5*time.Second))
		ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash"})
		if fmt.Sprint(had) != "[20s 5s 5s]" {
			t.Errorf("had %v", had)
		}
	})
}
