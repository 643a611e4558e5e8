package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Document is a dispatch without its types, for hooks in other processes and
// languages. A point about a tool call has Tool and Args, and Result or Error
// once the call has ended. The others have their whole input in Payload, an
// object with the field names of the point's event; the message of
// [MessageCreate] is the Payload itself.
type Document struct {
	Point   events.Kind
	Meta    Meta
	Tool    string
	Args    JSON
	Result  JSON
	Payload JSON
	Error   string
}

// Reply is the answer to a Document; a nil *Reply says nothing at all. What a
// point cannot use of it is a failure of the hook: a Patch that does not fit, a
// deny where nothing can be denied. Notifications use nothing.
type Reply struct {
	Verdict Verdict // of decisions; empty: no opinion
	Reason  string
	Context string // what the agent is to know besides
	// Patch is what to change, empty for nothing: the arguments of [ToolBefore],
	// the members to change of [ToolResult]'s outcome, the value of another
	// transform, the recovery of [Error], the patch of another decision.
	Patch JSON
}

// DocumentOutcome is what the hooks contribution to a Document.
type DocumentOutcome struct {
	Point      events.Kind `json:"point"`
	Verdict    Verdict     `json:"verdict"` // what is prevented is denied
	Reason     string      `json:"reason,omitempty"`
	Args       JSON        `json:"args,omitempty"`  // of a tool call, as patched
	Value      JSON        `json:"value,omitempty"` // of a transform, or the patches of a decision together
	Context    string      `json:"context,omitempty"`
	Executions []Execution `json:"executions"` // never nil
	RecordErr  error       `json:"-"`          // the event could not be recorded
}

// untyped is a point that documents can stand for.
type untyped interface {
	Kind() events.Kind
	// adapt returns fn as a hook of the point.
	adapt(fn func(context.Context, Document) (*Reply, error)) any
	dispatchDocument(ctx context.Context, r *Registry, d Document) (DocumentOutcome, error)
}

// OnDocument registers fn at a point; it gets the inputs of that point as
// documents.
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

// DispatchDocument dispatches d at its point. It fails if there is no such
// point or d does not fit it; then no hook has run and nothing is recorded.
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

// untypedPoint returns the point of a kind.
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

// payloadAs decodes the payload of d.
func payloadAs[T any](d Document) (T, error) {
	var v T
	if d.Payload == "" {
		return v, nil
	}
	err := d.Payload.Decode(&v)
	return v, err
}

// callOf returns the tool call that d is about.
func callOf(d Document) ToolCall { return ToolCall{ID: d.Meta.ToolCall, Tool: d.Tool, Args: d.Args} }

// decodePatch decodes what a hook has replied over v. A member that v does not
// have is an error: a patch that changes nothing by mistake would pass for one.
func decodePatch(patch JSON, v any) error {
	dec := json.NewDecoder(bytes.NewReader(patch.Raw()))
	dec.DisallowUnknownFields()
	if !patch.Valid() || dec.Decode(v) != nil {
		return ErrBadOutput
	}
	return nil
}
