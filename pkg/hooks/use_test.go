package hooks

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type everything struct{ calls map[string]int }

func (p everything) call(name string) error {
	p.calls[name]++
	return nil
}

func (p everything) Name() string { return "everything" }

func (p everything) IsEnabled(_ context.Context, m Meta) bool { return m.Run == "run-1" }

func (p everything) PreToolUse(context.Context, Meta, ToolCall) (*ToolDecision, error) {
	return nil, p.call("PreToolUse")
}

func (p everything) PostToolUse(context.Context, Meta, ToolDone, ToolOutcome) (*ToolOutcome, error) {
	return nil, p.call("PostToolUse")
}

func (p everything) SessionStart(context.Context, Meta, Session) (*SessionDecision, error) {
	return nil, p.call("SessionStart")
}

func (p everything) SessionEnd(context.Context, Meta, events.SessionEndedData) error {
	return p.call("SessionEnd")
}

func (p everything) PromptSubmitted(context.Context, Meta, Prompt) (*PromptDecision, error) {
	return nil, p.call("PromptSubmitted")
}

func (p everything) ErrorOccurred(context.Context, Meta, Failure) (*Recovery, error) {
	return nil, p.call("ErrorOccurred")
}

func (p everything) PreCompact(context.Context, Meta, Compaction) (*CompactionDecision, error) {
	return nil, p.call("PreCompact")
}

func (p everything) SubagentStart(context.Context, Meta, Subagent) (*SubagentDecision, error) {
	return nil, p.call("SubagentStart")
}

func (p everything) SubagentStop(context.Context, Meta, events.SubagentStoppedData) error {
	return p.call("SubagentStop")
}

func (p everything) RunStart(context.Context, Meta, events.RunStartedData) error {
	return p.call("RunStart")
}

func (p everything) AfterStep(context.Context, Meta, events.StepFinishedData) error {
	return p.call("AfterStep")
}

func (p everything) RunEnd(context.Context, Meta, events.RunFinishedData) error {
	return p.call("RunEnd")
}

func (p everything) ApprovalRequested(context.Context, Meta, ApprovalRequest) (*ApprovalDecision, error) {
	return nil, p.call("ApprovalRequested")
}

func (p everything) BeforeStep(context.Context, Meta, Step) (*StepDecision, error) {
	return nil, p.call("BeforeStep")
}

func (p everything) FilterMessages(context.Context, Meta, NoSubject, []Message) (*[]Message, error) {
	return nil, p.call("FilterMessages")
}

func (p everything) FilterLLMRequest(context.Context, Meta, NoSubject, []LLMMessage) (*[]LLMMessage, error) {
	return nil, p.call("FilterLLMRequest")
}

func (p everything) BeforeCreateMessage(context.Context, Meta, NoSubject, JSON) (*JSON, error) {
	return nil, p.call("BeforeCreateMessage")
}

func (p everything) BeforeUpdateMessage(context.Context, Meta, MessageID, JSON) (*JSON, error) {
	return nil, p.call("BeforeUpdateMessage")
}

func (p everything) BeforeStoreToolResult(context.Context, Meta, ToolCall, JSON) (*JSON, error) {
	return nil, p.call("BeforeStoreToolResult")
}

func (p everything) FilterStepOutput(context.Context, Meta, StepState, JSON) (*JSON, error) {
	return nil, p.call("FilterStepOutput")
}

func (p everything) AfterCreateMessage(context.Context, Meta, events.MessageData) error {
	return p.call("AfterCreateMessage")
}

func (p everything) AfterUpdateMessage(context.Context, Meta, events.MessageData) error {
	return p.call("AfterUpdateMessage")
}

func (p everything) AfterResponse(context.Context, Meta, events.ResponseCompletedData) error {
	return p.call("AfterResponse")
}

func (p everything) AfterCheckpoint(context.Context, Meta, events.CheckpointCreatedData) error {
	return p.call("AfterCheckpoint")
}

func (p everything) AfterModelSwitch(context.Context, Meta, events.ModelSwitchedData) error {
	return p.call("AfterModelSwitch")
}

func (p everything) AfterMemoryUpdate(context.Context, Meta, events.MemoryUpdatedData) error {
	return p.call("AfterMemoryUpdate")
}

func dispatchAll(ctx context.Context, r *Registry, m Meta) {
	ToolBefore.Dispatch(ctx, r, m, ToolCall{})
	PromptSubmit.Dispatch(ctx, r, m, Prompt{})
	SessionStart.Dispatch(ctx, r, m, Session{})
	SubagentStart.Dispatch(ctx, r, m, Subagent{})
	CompactBefore.Dispatch(ctx, r, m, Compaction{})
	Error.Dispatch(ctx, r, m, Failure{})
	ToolResult.Dispatch(ctx, r, m, ToolDone{}, ToolOutcome{})
	RunStarted.Dispatch(ctx, r, m, events.RunStartedData{})
	StepFinished.Dispatch(ctx, r, m, events.StepFinishedData{})
	RunFinished.Dispatch(ctx, r, m, events.RunFinishedData{})
	SessionEnded.Dispatch(ctx, r, m, events.SessionEndedData{})
	SubagentStopped.Dispatch(ctx, r, m, events.SubagentStoppedData{})
	Approval.Dispatch(ctx, r, m, ApprovalRequest{})
	StepBefore.Dispatch(ctx, r, m, Step{})
	MessagesFilter.Dispatch(ctx, r, m, NoSubject{}, nil)
	LLMRequest.Dispatch(ctx, r, m, NoSubject{}, nil)
	MessageCreate.Dispatch(ctx, r, m, NoSubject{}, `{}`)
	MessageUpdate.Dispatch(ctx, r, m, "m", `{}`)
	ToolResultStore.Dispatch(ctx, r, m, ToolCall{}, `{}`)
	StepOutput.Dispatch(ctx, r, m, StepState{}, `{}`)
	MessageCreated.Dispatch(ctx, r, m, events.MessageData{})
	MessageUpdated.Dispatch(ctx, r, m, events.MessageData{})
	ResponseCompleted.Dispatch(ctx, r, m, events.ResponseCompletedData{})
	CheckpointCreated.Dispatch(ctx, r, m, events.CheckpointCreatedData{})
	ModelSwitched.Dispatch(ctx, r, m, events.ModelSwitchedData{})
	MemoryUpdated.Dispatch(ctx, r, m, events.MemoryUpdatedData{})
}

func TestUse_FindsEveryMethod(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	calls := map[string]int{}
	ids, err := r.Use(everything{calls}, Priority(2))
	if err != nil || len(ids) != pointCount {
		t.Fatalf("%d ids, %v", len(ids), err)
	}
	for i, reg := range r.List() {
		if reg.ID != ids[i] || reg.Name != "everything" || reg.Priority != 2 {
			t.Errorf("got %+v", reg)
		}
	}
	dispatchAll(t.Context(), r, somewhere)
	dispatchAll(t.Context(), r, Meta{Run: "another"})
	want := map[string]int{}
	for _, m := range hookMethods {
		want[m.name] = 1
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

type onlyEnd struct{ ended *bool }

func (p onlyEnd) SessionEnd(context.Context, Meta, events.SessionEndedData) error {
	*p.ended = true
	return nil
}

func TestUse_WhatIsNotThereStaysAsItWas(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	ended := false
	ids, err := r.Use(onlyEnd{&ended}, Name("mine"), Async())
	if err != nil || len(ids) != 1 || r.List()[0].Name != "mine" {
		t.Fatalf("%v, %v", ids, err)
	}
	dispatchAll(t.Context(), r, somewhere)
	if err := r.Close(t.Context()); err != nil || !ended {
		t.Errorf("ended: %t, %v", ended, err)
	}
}

func TestUse_AllOrNothing(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	calls := map[string]int{}
	if ids, err := r.Use(everything{calls}, WhenSuccess()); err == nil || ids != nil || len(r.List()) > 0 {
		t.Errorf("got %v, %v, %d hooks", ids, err, len(r.List()))
	}
	for _, nothing := range []any{nil, 3, struct{}{}} {
		if ids, err := r.Use(nothing); err == nil || ids != nil {
			t.Errorf("use %v: %v, %v", nothing, ids, err)
		}
	}
}
