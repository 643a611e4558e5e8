package hooks

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func inHook(ctx context.Context, t *testing.T, r *Registry, do func(ctx context.Context), opts ...Option) Outcome[ToolCall, ToolPatch] {
	t.Helper()
	id := ToolBefore.On(r, func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
		do(ctx)
		return nil, nil
	}, opts...)
	defer r.Off(id)
	return ToolBefore.Dispatch(ctx, r, somewhere, ToolCall{})
}

type key struct{}

func TestContext_OfAHook(t *testing.T) {
	for level, isolate := range isolations {
		t.Run(level, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := tidy(t, NewRegistry(Options{}))
				var kept []context.Context
				out := inHook(context.WithValue(t.Context(), key{}, "value"), t, r, func(ctx context.Context) {
					kept = append(kept, ctx)
					if d, ok := ctx.Deadline(); !ok || time.Until(d) != 20*time.Second {
						t.Errorf("deadline %v, %t", d, ok)
					}
					if ctx.Err() != nil || ctx.Value(key{}) != "value" {
						t.Errorf("err %v, value %v", ctx.Err(), ctx.Value(key{}))
					}
					select {
					case <-ctx.Done():
						t.Error("done")
					default:
					}
				}, Timeout(20*time.Second), isolate)
				select {
				case <-kept[0].Done():
				default:
					t.Error("the context goes on after the hook")
				}
				if !out.Executions[0].Success || !errors.Is(kept[0].Err(), context.Canceled) {
					t.Errorf("after the hook: %v", kept[0].Err())
				}
			})
		})
	}
}

func TestContext_FirstAskedAfterTheHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tidy(t, NewRegistry(Options{}))
		var kept []context.Context
		inHook(t.Context(), t, r, func(ctx context.Context) { kept = append(kept, ctx) })
		select {
		case <-kept[0].Done():
		default:
			t.Error("the context goes on after the hook")
		}
		if !errors.Is(kept[0].Err(), context.Canceled) {
			t.Error(kept[0].Err())
		}
	})
}

func TestContext_EndsAtTheDeadline(t *testing.T) {
	for level, isolate := range isolations {
		t.Run(level, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := tidy(t, NewRegistry(Options{}))
				start := time.Now()
				inHook(t.Context(), t, r, func(ctx context.Context) {
					child, stop := context.WithTimeout(ctx, time.Hour)
					defer stop()
					<-child.Done()
					if time.Since(start) != time.Second || !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
						t.Errorf("after %v: %v, %v", time.Since(start), ctx.Err(), child.Err())
					}
				}, Timeout(time.Second), isolate)
				inHook(t.Context(), t, r, func(ctx context.Context) {
					time.Sleep(time.Second)
					if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
						t.Errorf("without Done: %v", ctx.Err())
					}
					<-ctx.Done()
				}, Timeout(time.Second), isolate)
			})
		})
	}
}

func TestContext_EndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tidy(t, NewRegistry(Options{}))
		parent, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		inHook(parent, t, r, func(ctx context.Context) {
			if d, ok := ctx.Deadline(); !ok || time.Until(d) != time.Second {
				t.Errorf("deadline %v, %t", d, ok)
			}
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Error(ctx.Err())
			}
		}, Isolate(Inline))
	})
}

func TestContext_MayBeWaitedForByMany(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	var wg sync.WaitGroup
	for range 100 {
		inHook(t.Context(), t, r, func(ctx context.Context) {
			for range 4 {
				wg.Go(func() {
					<-ctx.Done()
					if ctx.Err() == nil {
						t.Error("done without a reason")
					}
				})
			}
		})
	}
	wg.Wait()
}
