package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func keep[S, V any](do func(hooks.Meta, S, V)) func(context.Context, hooks.Meta, S, V) (*V, error) {
	return func(_ context.Context, m hooks.Meta, s S, v V) (*V, error) {
		do(m, s, v)
		return nil, nil
	}
}

func change[S, V any](to func(V) V) func(context.Context, hooks.Meta, S, V) (*V, error) {
	return func(_ context.Context, _ hooks.Meta, _ S, v V) (*V, error) {
		v = to(v)
		return &v, nil
	}
}

// failing returns an error that quotes its input.
func failing[S, V any](_ context.Context, _ hooks.Meta, _ S, v V) (*V, error) {
	return nil, fmt.Errorf("cannot handle %v", v)
}

// seedPoints maps the hooks of the specification to points.
var seedPoints = map[string]events.Kind{
	"filter_messages": hooks.MessagesFilter.Kind(), "prefilter_llm_history": hooks.LLMRequest.Kind(),
	"before_create_message": hooks.MessageCreate.Kind(), "after_create_message": hooks.MessageCreated.Kind(),
	"before_update_message": hooks.MessageUpdate.Kind(), "after_update_message": hooks.MessageUpdated.Kind(),
	"before_store_tool_result": hooks.ToolResultStore.Kind(),
	"after_tool_call_success":  hooks.ToolResult.Kind(), "after_tool_call_failure": hooks.ToolResult.Kind(),
}

// signatures checks which function types On accepts. Others do not compile.
func signatures(t *testing.T, want map[string]any) {
	t.Helper()
	for signature, on := range want {
		if got := reflect.TypeOf(on).In(1).String(); got != strings.TrimSpace(signature) {
			t.Errorf("got %s, want %s", got, signature)
		}
	}
}

func TestSeed003(t *testing.T) {
	t.Run("1.2 Hook names MUST match one of the defined hook types", func(t *testing.T) {
		for name, kind := range seedPoints {
			if _, ok := hooks.PointNamed(string(kind)); !ok {
				t.Errorf("%s has no point", name)
			}
		}
		if _, err := hooks.NewRegistry(hooks.Options{}).OnDocument("filter_everything", func(context.Context, hooks.Document) (*hooks.Reply, error) {
			return nil, nil
		}); err == nil {
			t.Error("a hook of no type was registered")
		}
	})
	t.Run("1.2 Each hook MUST be created with the signature of its type", func(t *testing.T) {
		const meta = "func(context.Context, hooks.Meta, "
		signatures(t, map[string]any{
			meta + "hooks.NoSubject, []hooks.Message) (*[]hooks.Message, error)":       hooks.MessagesFilter.On,
			meta + "hooks.NoSubject, []hooks.LLMMessage) (*[]hooks.LLMMessage, error)": hooks.LLMRequest.On,
			meta + "hooks.NoSubject, hooks.JSON) (*hooks.JSON, error)":                 hooks.MessageCreate.On,
			meta + "events.MessageData) error":                                         hooks.MessageCreated.On,
			meta + "hooks.MessageID, hooks.JSON) (*hooks.JSON, error)":                 hooks.MessageUpdate.On,
			meta + "events.MessageData) error ":                                        hooks.MessageUpdated.On,
			meta + "hooks.ToolCall, hooks.JSON) (*hooks.JSON, error)":                  hooks.ToolResultStore.On,
			meta + "hooks.ToolDone, hooks.ToolOutcome) (*hooks.ToolOutcome, error)":    hooks.ToolResult.On,
		})
	})
	t.Run("1.2 Multiple implementations of the same hook MAY exist, composed in order", func(t *testing.T) {
		r := hooks.NewRegistry(hooks.Options{})
		for _, letter := range []string{"a", "b", "c"} {
			hooks.MessagesFilter.On(r, change[hooks.NoSubject](func(m []hooks.Message) []hooks.Message { return append(m, hooks.Message{ID: letter}) }))
		}
		got := hooks.MessagesFilter.Dispatch(t.Context(), r, hooks.Meta{}, hooks.NoSubject{}, nil).Value
		if len(got) != 3 || got[0].ID+got[1].ID+got[2].ID != "abc" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("1.2 Hook implementations SHOULD be idempotent, but each is called only once per trigger", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		calls := 0
		hooks.ToolResult.On(e.Registry(), keep(func(hooks.Meta, hooks.ToolDone, hooks.ToolOutcome) { calls++ }))
		_, _ = e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, succeed)
		if calls != 1 {
			t.Errorf("called %d times", calls)
		}
	})
	t.Run("1.2 Implementations SHOULD enforce timeouts, and a hook that blocks does not stall the run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, _ := engine(t, hooks.Meta{})
			hooks.ToolResult.On(e.Registry(), keep(func(hooks.Meta, hooks.ToolDone, hooks.ToolOutcome) { time.Sleep(time.Minute) }), hooks.Timeout(time.Second))
			began := time.Now()
			out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, succeed)
			if err != nil || out.Result != `{"ok":true}` || time.Since(began) != time.Second {
				t.Errorf("got %+v, %v after %v", out, err, time.Since(began))
			}
		})
	})
	t.Run("1.2 Hooks MUST NOT expose sensitive data in logs or error messages", func(t *testing.T) {
		const card = "4111-1111-1111-1111"
		var log bytes.Buffer
		r := hooks.NewRegistry(hooks.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		hooks.MessageCreate.On(r, failing)
		hooks.ToolResult.On(r, func(context.Context, hooks.Meta, hooks.ToolDone, hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
			panic(card)
		})
		e := hooks.NewEngine(r, hooks.Meta{})
		err := e.CreateMessage(t.Context(), `{"content":"`+card+`"}`, func(context.Context, hooks.JSON) error { return nil })
		_, _ = e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return `"` + card + `"`, nil })
		if err == nil || strings.Contains(err.Error(), card) || strings.Contains(log.String(), card) || strings.Count(log.String(), "hook failed") != 2 {
			t.Errorf("got %v and the log\n%s", err, log.String())
		}
	})
	t.Run("2.1 and 2.2 ThreadState has thread, agent, user, flow, side, step count, stopped, abort signal", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{Thread: "t1", Agent: "a1", User: "u1", Flow: "f1", Side: "b"})
		var got hooks.Meta
		var aborted bool
		ctx, cancel := context.WithCancel(t.Context())
		hooks.MessagesFilter.On(e.Registry(), func(hook context.Context, m hooks.Meta, _ hooks.NoSubject, _ []hooks.Message) (*[]hooks.Message, error) {
			got = m
			cancel()
			aborted = hook.Err() != nil
			return nil, nil
		}, hooks.Isolate(hooks.Inline))
		_ = e.Run(ctx, hooks.RunInfo{}, func(ctx context.Context) error {
			_, _ = e.Step(ctx, hooks.StepInfo{}, func(context.Context, hooks.Attempt) (hooks.JSON, error) { return `{}`, nil })
			_, err := e.Step(ctx, hooks.StepInfo{}, func(ctx context.Context, _ hooks.Attempt) (hooks.JSON, error) {
				hooks.MessagesFilter.Dispatch(ctx, e.Registry(), e.Meta(ctx), hooks.NoSubject{}, nil)
				if !e.Meta(ctx).Stopped {
					t.Error("not stopped")
				}
				return `{}`, nil
			})
			return err
		})
		if got.Thread != "t1" || got.Agent != "a1" || got.User != "u1" || got.Flow != "f1" || got.Side != "b" || got.StepCount != 2 || got.Stopped || !aborted {
			t.Errorf("got %+v, aborted %v", got, aborted)
		}
	})
	t.Run("6 Messages, tool calls and results have the fields of the specification", func(t *testing.T) {
		content := "hi"
		for _, tt := range []struct {
			value any
			want  string
		}{
			{
				hooks.Message{ID: "m", Role: "tool", Content: &content, Name: "n", ToolCalls: "[]", ToolCallID: "c", CreatedAt: 5, ParentID: "p", Depth: 1},
				`{"id":"m","role":"tool","content":"hi","name":"n","tool_calls":"[]","tool_call_id":"c","created_at":5,"parent_id":"p","depth":1}`,
			},
			{hooks.Message{ID: "m", Role: "user"}, `{"id":"m","role":"user","content":null,"created_at":0}`},
			{hooks.LLMMessage{Role: "user", Content: &content, ToolCalls: `[1]`, ToolCallID: "c", Name: "n"}, `{"role":"user","content":"hi","tool_calls":[1],"tool_call_id":"c","name":"n"}`},
			{hooks.ToolOutcome{Status: events.ToolError, Error: "no", Stack: "s"}, `{"status":"error","error":"no","stack":"s"}`},
		} {
			if got, err := hooks.Marshal(tt.value); err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		}
	})
}

func TestSeed003_Messages(t *testing.T) {
	t.Run("3.1 filter_messages limits, filters, removes and injects messages", func(t *testing.T) {
		e, j := engine(t, hooks.Meta{Run: "r"})
		hooks.MessagesFilter.On(e.Registry(), change[hooks.NoSubject](func(m []hooks.Message) []hooks.Message { return m[max(0, len(m)-20):] }))
		hooks.MessagesFilter.On(e.Registry(), change[hooks.NoSubject](func(m []hooks.Message) []hooks.Message {
			m = slices.DeleteFunc(m, func(m hooks.Message) bool { return m.Role == "system" })
			return append(m, hooks.Message{ID: "synthetic"})
		}))
		in := make([]hooks.Message, 30)
		in[25].Role = "system"
		got := hooks.MessagesFilter.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.NoSubject{}, in).Value
		if len(got) != 20 || got[19].ID != "synthetic" {
			t.Errorf("got %d messages", len(got))
		}
		if _, data := find[events.HistoryData](t, j, events.MessagesFilter, 0); data.Before != 30 || data.After != 20 {
			t.Errorf("got %+v", data)
		}
	})
	t.Run("3.2 prefilter_llm_history adds reminders to the last message", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{Run: "r"})
		hooks.LLMRequest.On(e.Registry(), change[hooks.NoSubject](func(m []hooks.LLMMessage) []hooks.LLMMessage {
			*m[len(m)-1].Content += "\n\n(Remember to be concise)"
			return m
		}))
		text := "hello"
		in := []hooks.LLMMessage{{Role: "user", Content: &text}}
		got := hooks.LLMRequest.Dispatch(t.Context(), e.Registry(), e.Meta(t.Context()), hooks.NoSubject{}, in).Value
		if *got[0].Content != "hello\n\n(Remember to be concise)" || text != "hello" {
			t.Errorf("got %q, and the history has %q", *got[0].Content, text)
		}
	})
	t.Run("3.2 Hooks modifying message content SHOULD validate inputs, and invalid messages are refused", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		hooks.MessageCreate.On(e.Registry(), change[hooks.NoSubject](func(hooks.JSON) hooks.JSON { return `{"a":1},"injected"` }))
		if err := e.CreateMessage(t.Context(), `{}`, func(context.Context, hooks.JSON) error { t.Error("inserted"); return nil }); err == nil {
			t.Error("no error")
		}
	})
	t.Run("4.1 before_create_message MUST be called before inserting, and the returned object MUST be used", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{Flow: "f", Side: "a"})
		// Example 8.4.
		hooks.MessageCreate.On(e.Registry(), func(_ context.Context, m hooks.Meta, _ hooks.NoSubject, message hooks.JSON) (*hooks.JSON, error) {
			fields, err := message.Map()
			if err != nil {
				return nil, err
			}
			fields["metadata"] = m.Flow + m.Side
			message, err = hooks.Marshal(fields)
			return &message, err
		})
		var inserted hooks.JSON
		err := e.CreateMessage(t.Context(), `{"id":"m"}`, func(_ context.Context, m hooks.JSON) error { inserted = m; return nil })
		if err != nil || inserted != `{"id":"m","metadata":"fa"}` {
			t.Errorf("got %s, %v", inserted, err)
		}
	})
	t.Run("4.1 Failures SHOULD prevent message creation", func(t *testing.T) {
		e, j := engine(t, hooks.Meta{})
		hooks.MessageCreate.On(e.Registry(), failing)
		err := e.CreateMessage(t.Context(), `{}`, func(context.Context, hooks.JSON) error { t.Error("inserted"); return nil })
		if err == nil || slices.Contains(j.kinds(), "message.created") {
			t.Errorf("got %v, %v", err, j.kinds())
		}
	})
	t.Run("4.2 after_create_message MUST be called after insertion, and failures SHOULD NOT affect the message", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var order []string
		hooks.MessageCreated.On(e.Registry(), func(_ context.Context, _ hooks.Meta, m events.MessageData) error {
			order = append(order, "hook "+m.Message)
			return errors.New("no")
		})
		err := e.CreateMessage(t.Context(), `{"id":"m"}`, func(context.Context, hooks.JSON) error { order = append(order, "insert"); return nil })
		if diff := cmp.Diff([]string{"insert", "hook m"}, order); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		full := errors.New("full")
		if err := e.CreateMessage(t.Context(), `{}`, func(context.Context, hooks.JSON) error { return full }); !errors.Is(err, full) || len(order) != 2 {
			t.Errorf("got %v, and the hook was told of a message that is not there: %v", err, order)
		}
	})
	t.Run("4.3 before_update_message MUST be called before updating, the returned object MUST be used, and failures SHOULD prevent the update", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		id := hooks.MessageUpdate.On(e.Registry(), func(_ context.Context, _ hooks.Meta, id hooks.MessageID, updates hooks.JSON) (*hooks.JSON, error) {
			changed := hooks.JSON(strings.Replace(string(updates), "x", string(id), 1))
			return &changed, nil
		})
		var applied hooks.JSON
		update := func(_ context.Context, u hooks.JSON) (hooks.JSON, error) { applied = u; return `{}`, nil }
		if err := e.UpdateMessage(t.Context(), "m7", `{"content":"x"}`, update); err != nil || applied != `{"content":"m7"}` {
			t.Errorf("got %s, %v", applied, err)
		}
		e.Registry().Off(id)
		applied = ""
		hooks.MessageUpdate.On(e.Registry(), failing)
		if err := e.UpdateMessage(t.Context(), "m7", `{}`, update); err == nil || applied != "" {
			t.Errorf("got %s, %v", applied, err)
		}
	})
	t.Run("4.4 after_update_message MUST be called after the update, and failures SHOULD NOT affect the message", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var got events.MessageData
		hooks.MessageUpdated.On(e.Registry(), func(_ context.Context, _ hooks.Meta, m events.MessageData) error {
			got = m
			return errors.New("no")
		})
		err := e.UpdateMessage(t.Context(), "m", `{"content":"new"}`, func(context.Context, hooks.JSON) (hooks.JSON, error) {
			return `{"id":"m","role":"user","content":"new"}`, nil
		})
		if err != nil || got.Message != "m" || got.Role != "user" || string(got.Content) != `"new"` {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

var card = regexp.MustCompile(`\b\d{4}[-\s]?\d{4}[-\s]?\d{4}[-\s]?\d{4}\b`)

func TestSeed003_Tools(t *testing.T) {
	call := hooks.ToolCall{ID: "c", Tool: "payment_process", Args: `{"amount":5}`}
	t.Run("5.1 before_store_tool_result removes sensitive data from the stored result", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		// Example 8.5.
		hooks.ToolResultStore.On(e.Registry(), change[hooks.ToolCall](func(v hooks.JSON) hooks.JSON {
			return hooks.JSON(card.ReplaceAllString(string(v), "****-****-****-****"))
		}))
		var stored hooks.JSON
		err := e.StoreResult(t.Context(), call, `{"result":"card 4111-1111-1111-1111"}`, func(_ context.Context, v hooks.JSON) error { stored = v; return nil })
		if err != nil || stored != `{"result":"card ****-****-****-****"}` {
			t.Errorf("got %s, %v", stored, err)
		}
	})
	t.Run("5.2 after_tool_call_success keeps the result for null, and replaces it by a result", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{Thread: "t1"})
		var seen []string
		hooks.ToolResult.On(e.Registry(), keep(func(m hooks.Meta, d hooks.ToolDone, o hooks.ToolOutcome) { // example 8.2
			seen = append(seen, m.Thread+" "+d.Call.Tool+" "+string(d.Call.Args)+" "+string(o.Result))
		}), hooks.WhenSuccess())
		if out, _ := e.Tool(t.Context(), call, succeed); out.Result != `{"ok":true}` {
			t.Errorf("got %+v", out)
		}
		hooks.ToolResult.On(e.Registry(), change[hooks.ToolDone](func(o hooks.ToolOutcome) hooks.ToolOutcome { o.Result = `2`; return o }), hooks.WhenSuccess())
		if out, _ := e.Tool(t.Context(), call, succeed); out.Result != `2` {
			t.Errorf("got %+v", out)
		}
		_, _ = e.Tool(t.Context(), call, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "", errors.New("no") })
		if want := `t1 payment_process {"amount":5} {"ok":true}`; !slices.Equal(seen, []string{want, want}) {
			t.Errorf("got %q", seen)
		}
	})
	t.Run("5.3 after_tool_call_failure keeps the error for null, and replaces it by a result", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var alerts []string
		declined := func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "", errors.New("declined") }
		hooks.ToolResult.On(e.Registry(), keep(func(_ hooks.Meta, d hooks.ToolDone, o hooks.ToolOutcome) { // example 8.3
			alerts = append(alerts, d.Call.Tool+" failed: "+o.Error)
		}), hooks.WhenFailure())
		_, _ = e.Tool(t.Context(), call, succeed)
		if out, _ := e.Tool(t.Context(), call, declined); out.Error != "declined" || !slices.Equal(alerts, []string{"payment_process failed: declined"}) {
			t.Errorf("got %+v, %q", out, alerts)
		}
		hooks.ToolResult.On(e.Registry(), change[hooks.ToolDone](func(hooks.ToolOutcome) hooks.ToolOutcome {
			return hooks.ToolOutcome{Status: events.ToolSuccess, Result: `"recovered"`}
		}), hooks.WhenFailure())
		if out, err := e.Tool(t.Context(), call, declined); err != nil || out.Status != events.ToolSuccess || out.Result != `"recovered"` {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("5.3 Hooks accessing external services MUST handle failures gracefully, and a hook that fails changes nothing", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		hooks.ToolResult.On(e.Registry(), failing[hooks.ToolDone, hooks.ToolOutcome])
		if out, err := e.Tool(t.Context(), call, succeed); err != nil || out.Result != `{"ok":true}` {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}
