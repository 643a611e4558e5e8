package hooks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// pkg/hooks/hookfile tests the criteria about files, commands, patterns and models.
func TestSeed001(t *testing.T) {
	names := []string{
		"PreToolUse", "PostToolUse", "SessionStart", "SessionStop", "PromptSubmit",
		"ResponseComplete", "Error", "Checkpoint", "ModelSwitch", "MemoryUpdate",
	}
	t.Run("All 10 event types implemented", func(t *testing.T) {
		e, j := engine(t, hooks.Meta{Run: "r", Session: "s"})
		for _, name := range names {
			point, ok := hooks.PointNamed(name)
			if !ok {
				t.Fatalf("%s is no point", name)
			}
			fired := 0
			if _, err := e.Registry().OnDocument(point.Kind, func(_ context.Context, d hooks.Document) (*hooks.Reply, error) {
				if fired++; d.Point != point.Kind || d.Meta.Session != "s" {
					t.Errorf("%s: got %+v", name, d)
				}
				return nil, nil
			}); err != nil {
				t.Fatal(err)
			}
			doc := hooks.Document{Point: point.Kind, Meta: e.Meta(t.Context()), Tool: "Bash", Args: `{}`}
			if point.Kind != events.ToolBefore && point.Kind != events.ToolResult {
				doc.Tool, doc.Args = "", ""
			}
			if point.Kind == events.ToolResult {
				doc.Result = `1`
			}
			if _, err := e.Registry().DispatchDocument(t.Context(), doc); err != nil || fired != 1 {
				t.Errorf("%s: fired %d times, %v", name, fired, err)
			}
		}
		if len(j.events()) != len(names) {
			t.Errorf("recorded %v", j.kinds())
		}
	})
	t.Run("Hooks can block, allow, or modify tool calls", func(t *testing.T) {
		tests := []struct {
			name  string
			reply hooks.Reply
			want  hooks.JSON // arguments of the executed tool; empty if it is not called
		}{
			{"block", hooks.Reply{Verdict: hooks.Deny, Reason: "no"}, ""},
			{"allow", hooks.Reply{Verdict: hooks.Allow}, `{"command":"ls"}`},
			{"modify", hooks.Reply{Patch: `{"command":"ls -l"}`}, `{"command":"ls -l"}`},
			{"continue", hooks.Reply{}, `{"command":"ls"}`},
		}
		for _, tt := range tests {
			e, _ := engine(t, hooks.Meta{})
			if _, err := e.Registry().OnDocument(events.ToolBefore, func(context.Context, hooks.Document) (*hooks.Reply, error) { return &tt.reply, nil }); err != nil {
				t.Fatal(err)
			}
			var got hooks.JSON
			_, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "Bash", Args: `{"command":"ls"}`}, func(_ context.Context, c hooks.ToolCall) (hooks.JSON, error) {
				got = c.Args
				return "1", nil
			})
			if got != tt.want || (tt.want == "") != errors.Is(err, hooks.ErrDenied) {
				t.Errorf("%s: got %s, %v", tt.name, got, err)
			}
		}
	})
	t.Run("Async hooks fire without blocking", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, j := engine(t, hooks.Meta{})
			done := make(chan struct{})
			hooks.ToolResult.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ToolDone, hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
				time.Sleep(time.Second)
				close(done)
				return nil, nil
			}, hooks.Async())
			began := time.Now()
			if _, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, succeed); err != nil || time.Since(began) != 0 {
				t.Errorf("got %v after %v", err, time.Since(began))
			}
			<-done
			synctest.Wait()
			if !slices.Contains(j.kinds(), "hook.executed") {
				t.Errorf("recorded %v", j.kinds())
			}
		})
	})
	t.Run("Async hooks cannot decide, because the decision would be lost", func(t *testing.T) {
		r := hooks.NewRegistry(hooks.Options{})
		id := hooks.ToolBefore.On(r, func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
			return nil, nil
		}, hooks.Async())
		if id != "" || r.Err() == nil || !strings.Contains(r.Err().Error(), "the decision would be lost") {
			t.Errorf("got %q, %v", id, r.Err())
		}
	})
	t.Run("Timeout handling for slow hooks, 5 s by default", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for limit, opts := range map[time.Duration][]hooks.Option{5 * time.Second: nil, 200 * time.Millisecond: {hooks.Timeout(200 * time.Millisecond)}} {
				e, j := engine(t, hooks.Meta{Run: "r"})
				hooks.ToolBefore.On(e.Registry(), func(ctx context.Context, _ hooks.Meta, _ hooks.ToolCall) (*hooks.ToolDecision, error) {
					<-ctx.Done()
					time.Sleep(time.Hour)
					return &hooks.ToolDecision{Verdict: hooks.Deny}, nil // too late to count
				}, opts...)
				began := time.Now()
				if _, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, succeed); err != nil || time.Since(began) != limit {
					t.Errorf("got %v after %v, want %v", err, time.Since(began), limit)
				}
				if _, before := find[events.ToolBeforeData](t, j, events.ToolBefore, 0); !before.Executions[0].TimedOut {
					t.Errorf("got %+v", before)
				}
				time.Sleep(2 * time.Hour)
				if _, late := find[events.HookExecutedData](t, j, events.HookExecuted, 0); !late.Late {
					t.Errorf("got %+v", late)
				}
			}
		})
	})
	t.Run("Hook failures don't crash the session, and on_failure is warn, block or ignore", func(t *testing.T) {
		for mode, denied := range map[hooks.FailureMode]bool{hooks.Warn: false, hooks.Block: true, hooks.Ignore: false} {
			e, j := engine(t, hooks.Meta{Run: "r"})
			hooks.ToolBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
				panic("hook")
			}, hooks.OnFailure(mode))
			_, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, succeed)
			if errors.Is(err, hooks.ErrDenied) != denied || err != nil && !denied {
				t.Errorf("%s: got %v", mode, err)
			}
			if _, before := find[events.ToolBeforeData](t, j, events.ToolBefore, 0); before.Executions[0].Success {
				t.Errorf("%s: got %+v", mode, before)
			}
		}
	})
	t.Run("Hooks receive full context (session, tool, args, result, error)", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{Session: "abc123", Run: "r", Agent: "coder"})
		var got []hooks.Document
		for _, kind := range []events.Kind{events.ToolBefore, events.ToolResult} {
			if _, err := e.Registry().OnDocument(kind, func(_ context.Context, d hooks.Document) (*hooks.Reply, error) {
				if d.Meta.Session != "abc123" || d.Meta.Agent != "coder" || d.Meta.ToolCall != "c" || d.Meta.Time.IsZero() {
					t.Errorf("got %+v", d.Meta)
				}
				d.Meta = hooks.Meta{}
				got = append(got, d)
				return nil, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		call := hooks.ToolCall{ID: "c", Tool: "Bash", Args: `{"command":"git status"}`}
		_, _ = e.Tool(t.Context(), call, succeed)
		_, _ = e.Tool(t.Context(), call, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "", errors.New("exit 1") })
		before := hooks.Document{Point: events.ToolBefore, Tool: "Bash", Args: call.Args}
		after := hooks.Document{Point: events.ToolResult, Tool: "Bash", Args: call.Args, Result: `{"ok":true}`}
		if len(got) != 4 || got[3].Error != "exit 1" {
			t.Fatalf("got %+v", got)
		}
		got[1].Payload = ""
		if diff := cmp.Diff([]hooks.Document{before, after}, got[:2]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("All tool calls are wrapped with pre and post hooks, sessions with start and stop", func(t *testing.T) {
		e, j := engine(t, hooks.Meta{})
		err := e.Session(t.Context(), "s", hooks.Session{}, func(ctx context.Context, _ hooks.SessionOutcome) error {
			_, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, succeed)
			return err
		})
		want := []string{"session.start", "tool.before", "tool.result", "session.ended"}
		if diff := cmp.Diff(want, j.kinds()); diff != "" || err != nil {
			t.Errorf("error %v, fired (-want +got):\n%s", err, diff)
		}
	})
	t.Run("Error hooks fire on exceptions", func(t *testing.T) {
		e, j := engine(t, hooks.Meta{Run: "r"})
		_, _ = e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { panic("exception") })
		if _, data := find[events.ErrorData](t, j, events.Error, 0); data.Error.Message != "panicked: exception" || data.ErrorType != "tool" {
			t.Errorf("got %+v", data)
		}
	})
	t.Run("Today's on_approval_request still fires when a tool needs approval", func(t *testing.T) {
		e, j := engine(t, hooks.Meta{})
		if point, ok := hooks.PointNamed("on_approval_request"); !ok || point.Kind != events.Approval {
			t.Errorf("got %+v", point)
		}
		hooks.ToolBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
			return &hooks.ToolDecision{Verdict: hooks.Ask, Reason: "Destructive"}, nil
		})
		hooks.Approval.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ApprovalRequest) (*hooks.ApprovalDecision, error) {
			return &hooks.ApprovalDecision{Verdict: hooks.Allow}, nil
		})
		if _, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, succeed); err != nil || !slices.Contains(j.kinds(), "approval") {
			t.Errorf("got %v, %v", err, j.kinds())
		}
	})
}
