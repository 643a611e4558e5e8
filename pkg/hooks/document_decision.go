package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (p *DecisionPoint[In, P]) adapt(fn func(context.Context, Document) (*Reply, error)) any {
	return func(ctx context.Context, meta Meta, in In) (*Decision[P], error) {
		d := Document{Point: p.at.kind, Meta: meta}
		if err := p.write(in, &d); err != nil {
			return nil, err
		}
		reply, err := fn(ctx, d)
		if err != nil || reply == nil {
			return nil, err
		}
		decision := &Decision[P]{Verdict: reply.Verdict, Reason: reply.Reason, Context: reply.Context}
		if reply.Patch != "" && reply.Verdict != Deny {
			patch, err := p.patchOf(reply.Patch)
			if err != nil {
				return nil, err
			}
			decision.Patch = &patch
		}
		return decision, nil
	}
}

// write puts an input into a document.
func (p *DecisionPoint[In, P]) write(in In, d *Document) (err error) {
	if p.rules.write != nil {
		return p.rules.write(in, d)
	}
	d.Payload, err = Marshal(in)
	return err
}

// patchOf returns the patch that a reply has.
func (p *DecisionPoint[In, P]) patchOf(reply JSON) (patch P, err error) {
	if p.rules.patch != nil {
		return p.rules.patch(reply)
	}
	err = decodePatch(reply, &patch)
	return patch, err
}

func (p *DecisionPoint[In, P]) dispatchDocument(ctx context.Context, r *Registry, d Document) (DocumentOutcome, error) {
	read := p.rules.read
	if read == nil {
		read = payloadAs[In]
	}
	in, err := read(d)
	if err != nil {
		return DocumentOutcome{}, err
	}
	out := p.Dispatch(ctx, r, d.Meta, in)
	shown := DocumentOutcome{
		Verdict: out.Verdict, Reason: out.Reason, Context: out.Context, Executions: out.Executions, RecordErr: out.RecordErr,
	}
	switch {
	case p.rules.show != nil:
		err = p.rules.show(&out, &shown)
	case out.Modified:
		shown.Value, err = Marshal(out.Patch)
	}
	return shown, err
}

// recoveryPatch is a [Recovery] in a document.
type recoveryPatch struct {
	Retry     bool   `json:"retry"`
	Fallback  string `json:"fallback_model,omitempty"`
	Prompt    string `json:"prompt,omitempty"`
	BackoffMS int64  `json:"backoff_ms,omitempty"`
}

func (p *RecoveryPoint) adapt(fn func(context.Context, Document) (*Reply, error)) any {
	return func(ctx context.Context, meta Meta, f Failure) (*Recovery, error) {
		d := Document{Point: p.at.kind, Meta: meta}
		data := errorPayload(f, &Recovered{})
		d.Error = data.Error.Message
		var err error
		if d.Payload, err = Marshal(data); err != nil {
			return nil, err
		}
		reply, err := fn(ctx, d)
		switch {
		case err != nil || reply == nil:
			return nil, err
		case reply.Verdict == Deny:
			return &Recovery{}, nil
		case reply.Patch == "":
			return nil, nil //nolint:nilnil // no answer
		}
		var patch recoveryPatch
		if err := decodePatch(reply.Patch, &patch); err != nil {
			return nil, err
		}
		backoff := time.Duration(max(patch.BackoffMS, 0)) * time.Millisecond
		return &Recovery{Retry: patch.Retry, Fallback: patch.Fallback, Prompt: patch.Prompt, Backoff: backoff}, nil
	}
}

func (p *RecoveryPoint) dispatchDocument(ctx context.Context, r *Registry, d Document) (DocumentOutcome, error) {
	data, err := payloadAs[events.ErrorData](d)
	if err != nil {
		return DocumentOutcome{}, err
	}
	if d.Error != "" {
		data.Error.Message = d.Error
	}
	f := Failure{Err: errors.New(data.Error.Message), Type: ErrorType(data.ErrorType), Model: data.Model, Attempt: data.Attempt}
	out := p.Dispatch(ctx, r, d.Meta, f)
	shown := DocumentOutcome{Executions: out.Executions, RecordErr: out.RecordErr}
	if a := out.Recovery; a != nil {
		shown.Value, err = Marshal(recoveryPatch{a.Retry, a.Fallback, a.Prompt, a.Backoff.Milliseconds()})
	}
	return shown, err
}
