package hooks

import (
	"context"
	"errors"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Document is a dispatch without its types, for hooks in other processes and
// languages. A point about a tool call has Tool and Args, and Result or Error
// once the call has ended; the others have their whole input in Payload.
type Document struct {
	Point   events.Kind
	Meta    Meta
	Tool    string
	Args    JSON
	Result  JSON
	Payload JSON // an object with the field names of the point's event
	Error   string
}

// Reply is the answer to a Document; a nil *Reply says nothing at all.
type Reply struct {
	Verdict Verdict // of decisions; empty: no opinion
	Reason  string
	Context string
	Patch   JSON // the arguments of tool.before, the patch of other decisions, the value of a transform; empty: unchanged
}

// DocumentOutcome is what the hooks said to a Document.
type DocumentOutcome struct {
	Point      events.Kind `json:"point"`
	Verdict    Verdict     `json:"verdict"`
	Reason     string      `json:"reason,omitempty"`
	Args       JSON        `json:"args,omitempty"`  // of a tool call, as patched
	Value      JSON        `json:"value,omitempty"` // of a transform the value, of other decisions the patch
	Context    string      `json:"context,omitempty"`
	Executions []Execution `json:"executions"`
}

// OnDocument registers fn at a point; it gets the inputs of that point as
// documents. A reply that does not fit the point is a failure of the hook.
func (r *Registry) OnDocument(point events.Kind, fn func(context.Context, Document) (*Reply, error), opts ...Option) (ID, error) {
	_, _, _ = point, fn, opts
	return "", errors.New("not there yet")
}

// DispatchDocument dispatches d at its point. It fails if there is no such
// point or d does not fit it.
func (r *Registry) DispatchDocument(ctx context.Context, d Document) (DocumentOutcome, error) {
	_, _ = ctx, d
	return DocumentOutcome{}, errors.New("not there yet")
}
