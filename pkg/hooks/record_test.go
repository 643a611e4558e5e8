package hooks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestRecord_Attributes(t *testing.T) {
	k := &keeper{t: t}
	at := time.Date(2026, 11, 20, 9, 14, 7, 12, time.FixedZone("", 3600))
	r := tidy(t, NewRegistry(Options{Appender: k, Source: "/mine"}))
	m := Meta{
		Tenant: "acme", Run: "run-1", RunType: "resolve", Step: "step-2", Session: "s-3", Agent: "coder", AgentRole: "CODER",
		ParentAgent: "foreman", ParentRun: "run-0", User: "jdoe", AgentFS: "coder", Hooks: "agentfs",
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Time: at,
	}
	var seen Meta
	ToolBefore.On(r, func(_ context.Context, m Meta, _ ToolCall) (*ToolDecision, error) { seen = m; return nil, nil })
	out := ToolBefore.Dispatch(t.Context(), r, m, ToolCall{ID: "c-4", Tool: "Bash"})
	got, _ := only[events.ToolBeforeData](t, k, events.ToolBefore)
	want := events.Event{
		ID: out.Event, Source: "/mine", Type: "hooktrail.tool.before", Subject: "run-1", Time: at.UTC(), Tenant: "acme", Producer: "p", Sequence: 1,
		Run: "run-1", Step: "step-2", Session: "s-3", Agent: "coder", AgentRole: "CODER", RunType: "RESOLVE", ParentAgent: "foreman",
		ParentRun: "run-0", ToolCall: "c-4", User: "jdoe", AgentFS: "coder", Hooks: "agentfs", TraceParent: m.Traceparent, Salt: got.Salt, Data: got.Data,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	m.ToolCall = "c-4"
	if diff := cmp.Diff(m, seen); diff != "" {
		t.Errorf("the hook's meta (-want +got):\n%s", diff)
	}
}

func TestRecord_TimeIsNowByDefault(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	k := &keeper{t: t}
	PromptSubmit.Dispatch(t.Context(), NewRegistry(Options{Appender: k, Now: func() time.Time { return now }}), somewhere, Prompt{})
	before := time.Now()
	PromptSubmit.Dispatch(t.Context(), NewRegistry(Options{Appender: k}), somewhere, Prompt{})
	if all := k.events(); !all[0].Time.Equal(now) || all[1].Time.Before(before) || all[1].Time.After(time.Now()) || all[0].Source != "/engine" {
		t.Errorf("got %v and %v from %s", all[0].Time, all[1].Time, all[0].Source)
	}
}

func TestRecord_OneEventPerDispatchOfEachPoint(t *testing.T) {
	k := &keeper{t: t}
	r := tidy(t, NewRegistry(Options{Appender: k}))
	for _, p := range Points() {
		d := Document{Point: p.Kind, Meta: somewhere, Payload: `{}`}
		if p.Kind == events.ModelSwitched || p.Kind == events.CheckpointCreated {
			d.Payload = `{"to":"m","checkpoint":"c"}`
		}
		if p.Kind == events.StepFinished {
			d.Payload = `{"step_status":"completed"}`
		}
		id, err := r.OnDocument(p.Kind, func(context.Context, Document) (*Reply, error) { return nil, errTest }, OnFailure(Ignore))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.DispatchDocument(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		all := k.events()
		e := all[len(all)-1]
		if e.Kind() != p.Kind {
			t.Errorf("%s: recorded %s", p.Kind, e.Type)
		}
		outcome := payloadOf[events.Notified](t, e)
		if len(outcome.Executions) != 1 || outcome.Executions[0].Hook != string(id) || outcome.Executions[0].Success {
			t.Errorf("%s: recorded %+v", p.Kind, outcome)
		}
	}
	if n := len(k.events()); n != 26 {
		t.Errorf("%d events of 26 dispatches", n)
	}
}

func TestRecord_Refused(t *testing.T) {
	k := &keeper{t: t, err: errTest}
	r := tidy(t, NewRegistry(Options{Appender: k}))
	var called []string
	ToolBefore.On(r, says(&called, "", &ToolDecision{Verdict: Allow}))
	ToolBefore.On(r, fails(errTest))
	if out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{}); out.Verdict != Allow || !errors.Is(out.RecordErr, errTest) || out.Event == "" {
		t.Errorf("got %+v", out)
	}
	if out := RunStarted.Dispatch(t.Context(), r, somewhere, events.RunStartedData{Metadata: map[string]any{"f": func() {}}}); out.RecordErr == nil {
		t.Error("what cannot be encoded was recorded")
	}
}

func TestRecord_AfterTheCallerIsCancelled(t *testing.T) {
	r, k := recorded(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := PromptSubmit.Dispatch(ctx, r, somewhere, Prompt{Text: "hi"}); out.RecordErr != nil {
		t.Error(out.RecordErr)
	}
	if _, data := only[events.PromptSubmitData](t, k, events.PromptSubmit); data.Prompt != "hi" {
		t.Errorf("recorded %+v", data)
	}
}

func TestRecord_WhatIsNoJSON(t *testing.T) {
	r, k := recorded(t)
	ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: `{"a":`})
	if _, data := only[events.ToolBeforeData](t, k, events.ToolBefore); string(data.Args) != `"{\"a\":"` {
		t.Errorf("recorded %s", data.Args)
	}
}

func TestRecord_WhatIsNotUnicode(t *testing.T) {
	r, k := recorded(t)
	ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: "{\"command\":\"echo \xff \\ud83d\"}"})
	if _, data := only[events.ToolBeforeData](t, k, events.ToolBefore); !strings.HasPrefix(string(data.Args), `{"command":"echo `) {
		t.Errorf("recorded %s", data.Args)
	}
}

func TestRecord_WhatNestsTooDeep(t *testing.T) {
	for depth, verbatim := range map[int]bool{1: true, 510: true, 511: false, 9000: false} {
		r, k := recorded(t)
		args := JSON(strings.Repeat("[", depth) + `"[\"["` + strings.Repeat("]", depth))
		out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: args})
		if _, data := only[events.ToolBeforeData](t, k, events.ToolBefore); out.RecordErr != nil || (data.Args[0] == '[') != verbatim {
			t.Errorf("%d deep: %v, recorded %.9s", depth, out.RecordErr, data.Args)
		}
	}
}

func TestRecord_Decisions(t *testing.T) {
	r, k := recorded(t)
	words := "changed"
	PromptSubmit.On(r, func(context.Context, Meta, Prompt) (*PromptDecision, error) {
		return &PromptDecision{Patch: &PromptPatch{Prompt: &words, Directives: []string{"always test"}}}, nil
	})
	SubagentStart.On(r, func(context.Context, Meta, Subagent) (*SubagentDecision, error) {
		return &SubagentDecision{Verdict: Allow, Patch: &SubagentPatch{Model: "cheap"}}, nil
	})
	for _, export := range []JSON{`{"b":1}`, `{"a":2}`} {
		CompactBefore.On(r, func(context.Context, Meta, Compaction) (*CompactionDecision, error) {
			return &CompactionDecision{Patch: &CompactionPatch{Preserve: []string{string(export)}, Export: export}}, nil
		})
	}
	Approval.On(r, func(_ context.Context, _ Meta, q ApprovalRequest) (*ApprovalDecision, error) {
		q.Options[0] = "mutated"
		return &ApprovalDecision{Verdict: Allow, Patch: &ApprovalPatch{Selected: "yes"}}, nil
	})
	prompt := PromptSubmit.Dispatch(t.Context(), r, somewhere, Prompt{Text: "hi"})
	agent := SubagentStart.Dispatch(t.Context(), r, somewhere, Subagent{Model: "dear"})
	compact := CompactBefore.Dispatch(t.Context(), r, somewhere, Compaction{Tokens: 9})
	approval := Approval.Dispatch(t.Context(), r, somewhere, ApprovalRequest{Call: ToolCall{ID: "c", Tool: "Bash"}, Options: []string{"yes", "no"}})
	if prompt.Input.Text != words || agent.Input.Model != "cheap" || approval.Patch.Selected != "yes" || approval.Input.Options[0] != "yes" {
		t.Errorf("got %+v, %+v, %+v", prompt, agent, approval)
	}
	if diff := cmp.Diff(CompactionPatch{Preserve: []string{`{"b":1}`, `{"a":2}`}, Export: `{"a":2,"b":1}`}, compact.Patch); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	all := k.events()
	if p := payloadOf[events.PromptSubmitData](t, all[0]); p.Prompt != words || p.Directives[0] != "always test" {
		t.Errorf("recorded %+v", p)
	}
	if p := payloadOf[events.SubagentStartData](t, all[1]); p.Model != "cheap" || p.Verdict != Allow {
		t.Errorf("recorded %+v", p)
	}
	if p := payloadOf[events.CompactBeforeData](t, all[2]); len(p.Preserve) != 2 || p.Export[0] != "a" || p.Export[1] != "b" || p.Tokens != 9 {
		t.Errorf("recorded %+v", p)
	}
	if p := payloadOf[events.ApprovalData](t, all[3]); p.Selected != "yes" || p.Tool != "Bash" || all[3].ToolCall != "c" {
		t.Errorf("recorded %+v", p)
	}
}

func TestApproval_OnlyWhatIsOffered(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	Approval.On(r, func(context.Context, Meta, ApprovalRequest) (*ApprovalDecision, error) {
		return &ApprovalDecision{Verdict: Allow, Patch: &ApprovalPatch{Selected: "always"}}, nil
	})
	out := Approval.Dispatch(t.Context(), r, somewhere, ApprovalRequest{Options: []string{"yes", "no"}})
	if out.Verdict != None || out.Patch.Selected != "" || out.Executions[0].Error != string(ErrBadOutput) {
		t.Errorf("got %+v", out)
	}
}
