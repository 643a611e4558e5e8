package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Document is the input of a hook in another process or language.
//
// At points of a tool call, Tool and Args describe the call. After the call, Result or Error is set
// too. At other points, Payload has the fields of the point's event. At [MessageCreate], Payload is
// the message itself.
type Document struct {
	Point   events.Kind
	Meta    Meta
	Tool    string
	Args    JSON
	Result  JSON
	Payload JSON
	Error   string
}

// Reply is the answer to a Document. A nil *Reply means no opinion.
type Reply struct {
	Verdict Verdict // for decision points, empty for no opinion
	Reason  string
	Context string // for the agent
	// Patch changes the input. At [ToolBefore], it contains the new arguments, at [ToolResult] the
	// changed members of the outcome, and at [Error] the recovery. At other points, it is the patch
	// or the new value.
	Patch JSON
}

// DocumentOutcome is the combined answer of all hooks to a Document.
type DocumentOutcome struct {
	Point      events.Kind `json:"point"`
	Verdict    Verdict     `json:"verdict"` // Deny if a hook prevented a transform
	Reason     string      `json:"reason,omitempty"`
	Args       JSON        `json:"args,omitempty"`  // arguments of the tool call, with patches
	Value      JSON        `json:"value,omitempty"` // value of a transform, or patches of a decision
	Context    string      `json:"context,omitempty"`
	Executions []Execution `json:"executions"` // never nil
	RecordErr  error       `json:"-"`
}

type untyped interface {
	Kind() events.Kind
	adapt(fn func(context.Context, Document) (*Reply, error)) any
	dispatchDocument(ctx context.Context, r *Registry, d Document) (DocumentOutcome, error)
}

// OnDocument registers fn as a hook that gets the input as a Document.
func (r *Registry) OnDocument(point events.Kind, fn func(context.Context, Document) (*Reply, error), opts ...Option) (ID, error) {
	p, err := untypedPoint(point)
	if err != nil {
		return "", fmt.Errorf("register hook: %w", err)
	}
	if fn == nil {
		return r.add(infoOf(point), nil, opts)
	}
	return r.add(infoOf(point), p.adapt(fn), opts)
}

// DispatchDocument dispatches d at d.Point. If the point or d is not valid, it calls no hook and
// returns an error.
func (r *Registry) DispatchDocument(ctx context.Context, d Document) (DocumentOutcome, error) {
	p, err := untypedPoint(d.Point)
	if err != nil {
		return DocumentOutcome{}, fmt.Errorf("dispatch: %w", err)
	}
	for name, j := range map[string]JSON{"args": d.Args, "result": d.Result, "payload": d.Payload} {
		if j != "" && !j.Valid() {
			return DocumentOutcome{}, fmt.Errorf("dispatch %s: %s: not JSON", d.Point, name)
		}
	}
	out, err := p.dispatchDocument(ctx, r, d)
	if err != nil {
		return DocumentOutcome{}, fmt.Errorf("dispatch %s: %w", d.Point, err)
	}
	out.Point = d.Point
	if out.Verdict == "" {
		out.Verdict = None
	}
	if out.Executions == nil {
		out.Executions = []Execution{}
	}
	return out, nil
}

func untypedPoint(kind events.Kind) (untyped, error) {
	for _, p := range [pointCount]untyped{
		ToolBefore, PromptSubmit, SessionStart, SubagentStart, CompactBefore, Error, Approval, StepBefore,
		MessagesFilter, LLMRequest, MessageCreate, MessageUpdate, ToolResult, ToolResultStore, StepOutput,
		RunStarted, StepFinished, RunFinished, SessionEnded, SubagentStopped, MessageCreated, MessageUpdated,
		ResponseCompleted, CheckpointCreated, ModelSwitched, MemoryUpdated,
	} {
		if p.Kind() == kind {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%q: no such hook point", kind)
}

func payloadAs[T any](d Document) (T, error) {
	var v T
	if d.Payload == "" {
		return v, nil
	}
	err := d.Payload.Decode(&v)
	return v, err
}

func callOf(d Document) ToolCall { return ToolCall{ID: d.Meta.ToolCall, Tool: d.Tool, Args: d.Args} }

// decodePatch rejects unknown members, because a misspelled member would otherwise have no effect.
func decodePatch(patch JSON, v any) error {
	dec := json.NewDecoder(bytes.NewReader(patch.Raw()))
	dec.DisallowUnknownFields()
	if !patch.Valid() || dec.Decode(v) != nil {
		return ErrBadOutput
	}
	return nil
}
