package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestTransform_ValuesFlowThroughTheChain(t *testing.T) {
	r, k := recorded(t)
	appending := func(s string) func(context.Context, Meta, NoSubject, []LLMMessage) (*[]LLMMessage, error) {
		return func(_ context.Context, _ Meta, _ NoSubject, v []LLMMessage) (*[]LLMMessage, error) {
			v = append(v, LLMMessage{Role: "system", Content: &s})
			return &v, nil
		}
	}
	LLMRequest.On(r, appending("1"), Name("1"))
	LLMRequest.On(r, func(_ context.Context, _ Meta, _ NoSubject, v []LLMMessage) (*[]LLMMessage, error) {
		*v[0].Content = "mutated" // not returned, so it has no effect
		v[1].Role = "mutated"
		return nil, nil
	}, Name("keep"))
	LLMRequest.On(r, appending("2"), Name("2"))
	in := []LLMMessage{{Role: "user", Content: new("hi")}}
	out := LLMRequest.Dispatch(t.Context(), r, somewhere, NoSubject{}, in)
	want := []LLMMessage{{Role: "user", Content: new("hi")}, {Role: "system", Content: new("1")}, {Role: "system", Content: new("2")}}
	if diff := cmp.Diff(want, out.Value); diff != "" || !out.Modified || out.Prevented || out.Err != nil {
		t.Errorf("got %+v (-want +got):\n%s", out, diff)
	}
	if x := out.Executions; !x[0].Modified || x[1].Modified || !x[2].Modified {
		t.Errorf("executions %+v", x)
	}
	if diff := cmp.Diff([]LLMMessage{{Role: "user", Content: new("hi")}}, in); diff != "" {
		t.Errorf("the caller's own was changed:\n%s", diff)
	}
	_, data := only[events.HistoryData](t, k, events.LLMRequest)
	if data.Before != 1 || data.After != 3 || data.BeforeSHA256 == data.AfterSHA256 || len(data.AfterSHA256) != 64 {
		t.Errorf("recorded %+v", data)
	}
}

func TestTransform_FailedWriteIsPrevented(t *testing.T) {
	tests := []struct {
		name      string
		opts      []Option
		prevented bool
	}{
		{"Default", nil, true},
		{"Block", []Option{OnFailure(Block)}, true},
		{"Warn", []Option{OnFailure(Warn)}, false},
		{"Ignore", []Option{OnFailure(Ignore)}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, k := recorded(t)
			MessageCreate.On(r, func(context.Context, Meta, NoSubject, JSON) (*JSON, error) { return nil, errTest }, append(tt.opts, Name("bad"))...)
			after := false
			MessageCreate.On(r, func(context.Context, Meta, NoSubject, JSON) (*JSON, error) { after = true; return nil, nil })
			out := MessageCreate.Dispatch(t.Context(), r, somewhere, NoSubject{}, `{"id":"m1","role":"user","content":"hi"}`)
			if out.Prevented != tt.prevented || after == tt.prevented || !errors.Is(out.Err, errTest) {
				t.Errorf("got %+v, hook behind it called: %t", out, after)
			}
			var found *HookExecutionError
			if !errors.As(out.Err, &found) || found.Name != "bad" {
				t.Errorf("error %v", out.Err)
			}
			_, data := only[events.MessageData](t, k, events.MessageCreate)
			if (data.Verdict == Deny) != tt.prevented || data.Message != "m1" || (string(data.Content) == `"hi"`) == tt.prevented || data.Raw != nil {
				t.Errorf("recorded %+v", data)
			}
			if tt.prevented && data.Reason != "hook bad failed: failed" {
				t.Errorf("reason %q", data.Reason)
			}
		})
	}
}

func TestTransform_BadOutput(t *testing.T) {
	returning := func(v JSON) func(context.Context, Meta, MessageID, JSON) (*JSON, error) {
		return func(context.Context, Meta, MessageID, JSON) (*JSON, error) { return &v, nil }
	}
	for _, bad := range []JSON{"", "null", "[]", `"text"`, `{"a":`} {
		r := tidy(t, NewRegistry(Options{}))
		MessageUpdate.On(r, returning(bad))
		out := MessageUpdate.Dispatch(t.Context(), r, somewhere, "m1", `{"pinned":true}`)
		if !out.Prevented || out.Value != `{"pinned":true}` || !errors.Is(out.Err, ErrBadOutput) {
			t.Errorf("%q: got %+v", bad, out)
		}
	}
	r, k := recorded(t)
	MessageUpdate.On(r, returning(`{"pinned":false}`))
	out := MessageUpdate.Dispatch(t.Context(), r, somewhere, "m1", `{"pinned":true}`)
	if _, data := only[events.MessageData](t, k, events.MessageUpdate); out.Value != `{"pinned":false}` || string(data.Updates) != `{"pinned":false}` || data.Message != "m1" {
		t.Errorf("got %+v, recorded %+v", out, data)
	}
}

func TestTransform_RawResultIsNeverStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		block, release := forever(t)
		ToolResultStore.On(r, func(context.Context, Meta, ToolCall, JSON) (*JSON, error) {
			block()
			return nil, nil
		}, Name("redact"))
		out := ToolResultStore.Dispatch(t.Context(), r, somewhere, ToolCall{ID: "c", Tool: "Bash"}, `{"result":"4111 1111 1111 1111"}`)
		if out.Value != RedactionFailed || out.Prevented || !out.Modified || !errors.Is(out.Err, ErrTimedOut) {
			t.Errorf("got %+v", out)
		}
		if e, data := only[events.ToolResultStoreData](t, k, events.ToolResultStore); string(data.Result) != string(RedactionFailed) || e.ToolCall != "c" {
			t.Errorf("recorded %s", data.Result)
		}
		release()
	})
}

func TestTransform_ToolResult(t *testing.T) {
	r, k := recorded(t)
	var called []string
	watch := func(name string, opts ...Option) {
		ToolResult.On(r, func(_ context.Context, _ Meta, d ToolDone, o ToolOutcome) (*ToolOutcome, error) {
			if d.Call.Tool != "Bash" || d.Duration != time.Second {
				t.Errorf("%s: done %+v", name, d)
			}
			called = append(called, name+" "+string(o.Status))
			if name != "success" {
				return nil, nil
			}
			*o.ExitCode = 7
			o.Context, o.Suppress, o.Result = "look", true, `{"x":1}`
			return &o, nil
		}, append(opts, Name(name))...)
	}
	watch("any")
	watch("failure", WhenFailure())
	watch("success", WhenSuccess())
	done := ToolDone{Call: ToolCall{ID: "c", Tool: "Bash"}, Duration: time.Second}
	zero := 0
	out := ToolResult.Dispatch(t.Context(), r, somewhere, done, ToolOutcome{Status: events.ToolSuccess, Result: `"ok"`, ExitCode: &zero})
	if diff := cmp.Diff([]string{"any success", "success success"}, called); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	if *out.Value.ExitCode != 7 || zero != 0 || !out.Value.Suppress || out.Value.Context != "look" {
		t.Errorf("got %+v", out)
	}
	_, data := only[events.ToolResultData](t, k, events.ToolResult)
	if *data.ExitCode != 7 || !data.Suppress || data.Context != "look" || string(data.Result) != `{"x":1}` || data.DurationMS != 1000 || data.Error != nil {
		t.Errorf("recorded %+v", data)
	}
	called = nil
	ToolResult.Dispatch(t.Context(), r, somewhere, done, ToolOutcome{Status: events.ToolError, Error: "no such file"})
	if diff := cmp.Diff([]string{"any error", "failure error"}, called); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	if data := payloadOf[events.ToolResultData](t, k.events()[1]); data.Error == nil || data.Error.Message != "no such file" {
		t.Errorf("recorded %+v", data)
	}
}

func TestTransform_StepOutput(t *testing.T) {
	r, k := recorded(t)
	for _, add := range []string{"a", "b"} {
		StepOutput.On(r, func(_ context.Context, _ Meta, s StepState, v JSON) (*JSON, error) {
			if s.Agent != "analyst" || s.State != `{"n":1}` {
				t.Errorf("subject %+v", s)
			}
			m, err := v.Map()
			if err != nil {
				return nil, err
			}
			m[add] = true
			out, err := Marshal(m)
			return &out, err
		})
	}
	out := StepOutput.Dispatch(t.Context(), r, somewhere, StepState{Agent: "analyst", State: `{"n":1}`}, `{}`)
	if _, data := only[events.StepOutputData](t, k, events.StepOutput); out.Value != `{"a":true,"b":true}` || string(data.Output) != string(out.Value) {
		t.Errorf("got %+v, recorded %+v", out, data)
	}
}

func TestTransform_MessagesWithMoreThanTheirContentAreKeptWhole(t *testing.T) {
	r, k := recorded(t)
	message := JSON(`{"id":"m1","role":"user","content":null,"metadata":"{}"}`)
	MessageCreate.Dispatch(t.Context(), r, somewhere, NoSubject{}, message)
	_, data := only[events.MessageData](t, k, events.MessageCreate)
	if !json.Valid(data.Raw) || string(data.Raw) != string(message) || data.Role != "user" {
		t.Errorf("recorded %+v", data)
	}
}
