package hooks

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestDocument_EachPoint(t *testing.T) {
	call := Document{Tool: "Bash", Args: `{"command":"ls"}`}
	tests := []struct {
		point events.Kind
		in    Document // input of the dispatch and of the hooks
		patch JSON
		want  DocumentOutcome // without executions
	}{
		{events.ToolBefore, call, `{"command":"pwd"}`, DocumentOutcome{Args: `{"command":"pwd"}`}},
		{events.PromptSubmit, Document{Payload: `{"prompt":"hi"}`}, `{"prompt":"ho","directives":["d"]}`, DocumentOutcome{Value: `{"prompt":"ho","directives":["d"]}`}},
		{events.SessionStart, Document{Payload: `{"from":"startup","model":"m","config":{"a":1}}`}, `{"config":{"b":2}}`, DocumentOutcome{Value: `{"config":{"b":2}}`}},
		{events.SubagentStart, Document{Payload: `{"subagent":"s","model":"m"}`}, `{"model":"n"}`, DocumentOutcome{Value: `{"model":"n"}`}},
		{events.CompactBefore, Document{Payload: `{"trigger":"auto","tokens":9}`}, `{"export":{"a":1}}`, DocumentOutcome{Value: `{"export":{"a":1}}`}},
		{events.Approval, Document{Tool: "Bash", Args: `{}`, Payload: `{"prompt":"sure?","options":["yes"]}`}, `{"selected":"yes"}`, DocumentOutcome{Value: `{"selected":"yes"}`}},
		{events.StepBefore, Document{Payload: `{"state":{"a":1}}`}, `{"state":{"b":2}}`, DocumentOutcome{Value: `{"state":{"b":2}}`}},
		{events.Error, Document{Error: "reset", Payload: `{"error":{"message":"reset"},"error_type":"network","attempt":2}`}, `{"retry":true,"backoff_ms":50}`, DocumentOutcome{Value: `{"retry":true,"backoff_ms":50}`}},
		{events.MessagesFilter, Document{Payload: `{"messages":[{"id":"1","role":"user","content":null,"created_at":0}]}`}, `[]`, DocumentOutcome{Value: `[]`}},
		{events.LLMRequest, Document{Payload: `{"messages":[{"role":"user","content":"hi"}]}`}, `[{"role":"system","content":"x"}]`, DocumentOutcome{Value: `[{"role":"system","content":"x"}]`}},
		{events.MessageCreate, Document{Payload: `{"id":"1"}`}, `{"id":"1","x":1}`, DocumentOutcome{Value: `{"id":"1","x":1}`}},
		{events.MessageUpdate, Document{Payload: `{"message_id":"1","updates":{"a":1}}`}, `{"a":2}`, DocumentOutcome{Value: `{"a":2}`}},
		{events.ToolResult, Document{Tool: "Bash", Args: `{}`, Result: `"ok"`, Payload: `{"status":"success","exit_code":0,"duration_ms":5}`}, `{"result":"no","suppress_output":true}`, DocumentOutcome{Value: `{"status":"success","result":"no","exit_code":0,"suppress_output":true}`}},
		{events.ToolResult, Document{Tool: "Bash", Args: `{}`, Error: "boom", Payload: `{"status":"error"}`}, `{"error":"bang"}`, DocumentOutcome{Value: `{"status":"error","error":"bang"}`}},
		{events.ToolResultStore, Document{Tool: "Bash", Args: `{}`, Result: `{"r":1}`}, `{"r":2}`, DocumentOutcome{Value: `{"r":2}`}},
		{events.StepOutput, Document{Payload: `{"agent":"dev","state":{},"output":{"o":1}}`}, `{"o":2}`, DocumentOutcome{Value: `{"o":2}`}},
		{events.RunStarted, Document{Payload: `{"run_type":"PLAN","title":"t"}`}, ``, DocumentOutcome{}},
		{events.MessageCreated, Document{Payload: `{"message_id":"1","content":"c"}`}, `"ignored"`, DocumentOutcome{}},
	}
	for _, tt := range tests {
		t.Run(string(tt.point), func(t *testing.T) {
			r := tidy(t, NewRegistry(Options{}))
			tt.in.Point, tt.in.Meta = tt.point, somewhere
			tt.want.Point, tt.want.Verdict = tt.point, None
			var seen Document
			id, err := r.OnDocument(tt.point, func(_ context.Context, d Document) (*Reply, error) {
				seen = d
				return &Reply{Patch: tt.patch}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.DispatchDocument(t.Context(), tt.in)
			if err != nil {
				t.Fatal(err)
			}
			seen.Meta.Time = tt.in.Meta.Time
			if diff := cmp.Diff(tt.in, seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			if len(got.Executions) != 1 || got.Executions[0].Hook != string(id) || !got.Executions[0].Success {
				t.Fatalf("executions %+v", got.Executions)
			}
			got.Executions = nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDocument_Verdicts(t *testing.T) {
	tests := []struct {
		point events.Kind
		reply Reply
		want  Verdict
		fault Fault
	}{
		{events.ToolBefore, Reply{Verdict: Deny, Reason: "no", Patch: `junk`}, Deny, ""},
		{events.ToolBefore, Reply{Verdict: Ask}, Ask, ""},
		{events.ToolBefore, Reply{Verdict: "block"}, None, ErrBadOutput},
		{events.ToolBefore, Reply{Patch: `junk`}, None, ErrBadOutput},
		{events.SubagentStart, Reply{Patch: `{"modell":"m"}`}, None, ErrBadOutput},
		{events.SubagentStart, Reply{Verdict: Allow, Patch: `[]`}, None, ErrBadOutput},
		{events.SessionStart, Reply{Verdict: Deny}, None, ErrBadOutput},
		{events.ToolResult, Reply{Verdict: Deny}, None, ErrBadOutput},
		{events.ToolResult, Reply{Patch: `{"status":"maybe"}`}, None, ErrBadOutput},
		{events.MessageCreate, Reply{Patch: `[]`}, Deny, ErrBadOutput},
		{events.MessageCreate, Reply{Verdict: "block"}, Deny, ErrBadOutput},
		{events.MessageCreate, Reply{Verdict: Allow, Context: "unused"}, None, ""},
		{events.RunStarted, Reply{Verdict: Deny}, None, ""},
		{events.Error, Reply{Patch: `{"retry":"yes"}`}, None, ErrBadOutput},
	}
	for _, tt := range tests {
		r := tidy(t, NewRegistry(Options{}))
		if _, err := r.OnDocument(tt.point, func(context.Context, Document) (*Reply, error) { return &tt.reply, nil }); err != nil {
			t.Fatal(err)
		}
		d := Document{Point: tt.point, Payload: `{}`}
		if tt.point == events.ToolResult {
			d.Result = `"ok"`
		}
		out, err := r.DispatchDocument(t.Context(), d)
		if err != nil || out.Verdict != tt.want || out.Executions[0].Error != string(tt.fault) {
			t.Errorf("%s %+v: got %+v, %v", tt.point, tt.reply, out, err)
		}
	}
}

func TestDocument_RefusedRecovery(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	for _, reply := range []*Reply{nil, {Patch: `{"retry":true}`}, {Verdict: Deny}, {Context: "no answer"}} {
		if _, err := r.OnDocument(events.Error, func(context.Context, Document) (*Reply, error) { return reply, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if out := Error.Dispatch(t.Context(), r, somewhere, Failure{Err: errTest}); out.Recovery == nil || out.Recovery.Retry || len(out.Executions) != 4 {
		t.Errorf("got %+v", out)
	}
}

func TestDocument_Errors(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	for name, d := range map[string]Document{
		"NoPoint":     {Point: "tool.after"},
		"Record":      {Point: events.HookExecuted},
		"Args":        {Point: events.ToolBefore, Args: `{`},
		"Result":      {Point: events.ToolResult, Result: `hunter2`},
		"Payload":     {Point: events.PromptSubmit, Payload: `{"prompt":3}`},
		"EventFields": {Point: events.RunFinished, Payload: `[]`},
	} {
		if out, err := r.DispatchDocument(t.Context(), d); err == nil || out.Executions != nil {
			t.Errorf("%s: got %+v", name, out)
		}
	}
	if id, err := r.OnDocument("tool.after", func(context.Context, Document) (*Reply, error) { return nil, nil }); err == nil || id != "" {
		t.Errorf("registered %q", id)
	}
	if _, err := r.OnDocument(events.ToolBefore, nil); !errors.Is(err, errNoHook) {
		t.Errorf("got %v", err)
	}
	if _, err := r.OnDocument(events.ToolBefore, func(context.Context, Document) (*Reply, error) { return nil, nil }, Async()); !errors.Is(err, errAsyncLost) {
		t.Errorf("got %v", err)
	}
}

func TestDocument_OutcomeAsJSON(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	out, err := r.DispatchDocument(t.Context(), Document{Point: events.ToolBefore, Tool: "Bash", Args: `{"command":"ls"}`})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Marshal(out)
	if want := JSON(`{"point":"tool.before","verdict":"none","args":{"command":"ls"},"executions":[]}`); err != nil || text != want {
		t.Errorf("got %s, want %s: %v", text, want, err)
	}
}

// FuzzDocument_Reply checks that no reply of another process stops a run.
func FuzzDocument_Reply(f *testing.F) {
	for _, p := range Points() {
		f.Add(string(p.Kind), "allow", `{"a":1}`, "context")
		f.Add(string(p.Kind), "", `{"status":"error","error":"x"}`, "")
		f.Add(string(p.Kind), "deny", `[{"role":"user"}]`, "")
	}
	f.Fuzz(func(t *testing.T, point, verdict, patch, more string) {
		k := &keeper{t: t}
		r := NewRegistry(Options{Appender: k})
		defer r.Close(t.Context())
		reply := &Reply{Verdict: Verdict(verdict), Reason: more, Context: more, Patch: JSON(patch)}
		if _, err := r.OnDocument(events.Kind(point), func(context.Context, Document) (*Reply, error) { return reply, nil }, Isolate(Inline)); err != nil {
			return
		}
		d := Document{Point: events.Kind(point), Meta: somewhere, Tool: "Bash", Args: `{}`, Result: `{}`, Payload: `{"step_status":"failed","to":"m","checkpoint":"c"}`}
		out, err := r.DispatchDocument(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if rank(out.Verdict) == 0 && out.Verdict != None || out.Args != "" && !out.Args.Valid() || out.Value != "" && !out.Value.Valid() {
			t.Errorf("got %+v", out)
		}
		if len(out.Executions) != 1 || out.RecordErr != nil || len(k.events()) != 1 {
			t.Errorf("%d executions, %d events, %v", len(out.Executions), len(k.events()), out.RecordErr)
		}
	})
}
