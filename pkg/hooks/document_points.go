package hooks

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (p *DecisionPoint[In, P]) adapt(fn func(context.Context, Document) (*Reply, error)) any {
	return func(ctx context.Context, meta Meta, in In) (*Decision[P], error) {
		d := Document{Point: p.info.kind, Meta: meta}
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

func (p *DecisionPoint[In, P]) write(in In, d *Document) (err error) {
	if p.rules.write != nil {
		return p.rules.write(in, d)
	}
	d.Payload, err = Marshal(in)
	return err
}

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

type recoveryPatch struct {
	Retry     bool   `json:"retry"`
	Fallback  string `json:"fallback_model,omitempty"`
	Prompt    string `json:"prompt,omitempty"`
	BackoffMS int64  `json:"backoff_ms,omitempty"`
}

func (p *RecoveryPoint) adapt(fn func(context.Context, Document) (*Reply, error)) any {
	return func(ctx context.Context, meta Meta, f Failure) (*Recovery, error) {
		d := Document{Point: p.info.kind, Meta: meta}
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
			return NoOpinion[Recovery](), nil
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

func (p *TransformPoint[S, V]) adapt(fn func(context.Context, Document) (*Reply, error)) any {
	return func(ctx context.Context, meta Meta, s S, v V) (*V, error) {
		d := Document{Point: p.info.kind, Meta: meta}
		if err := p.rules.write(s, v, &d); err != nil {
			return nil, err
		}
		reply, err := fn(ctx, d)
		if err != nil || reply == nil {
			return nil, err
		}
		switch reply.Verdict {
		case "", None, Allow:
		case Deny, Ask:
			return nil, ErrBadOutput
		default:
			return nil, ErrBadOutput
		}
		if reply.Patch == "" && reply.Context == "" {
			return Unchanged[V](), nil
		}
		value, err := p.rules.reply(v, reply)
		if err != nil {
			return nil, ErrBadOutput
		}
		return &value, nil
	}
}

func (p *TransformPoint[S, V]) dispatchDocument(ctx context.Context, r *Registry, d Document) (DocumentOutcome, error) {
	s, v, err := p.rules.read(d)
	if err != nil {
		return DocumentOutcome{}, err
	}
	out := p.Dispatch(ctx, r, d.Meta, s, v)
	shown := DocumentOutcome{Executions: out.Executions, RecordErr: out.RecordErr}
	if out.Prevented {
		shown.Verdict, shown.Reason = Deny, out.because
	}
	err = p.rules.show(out.Value, &shown)
	if asked := p.rules.asked; asked != nil && !out.Modified && err == nil {
		shown.Value = cmp.Or(asked(d), shown.Value)
	}
	return shown, err
}

func (p *NotificationPoint[E]) adapt(fn func(context.Context, Document) (*Reply, error)) any {
	return func(ctx context.Context, meta Meta, e E) error {
		d := Document{Point: p.info.kind, Meta: meta}
		var err error
		if d.Payload, err = Marshal(e); err != nil {
			return err
		}
		_, err = fn(ctx, d)
		return err
	}
}

func (p *NotificationPoint[E]) dispatchDocument(ctx context.Context, r *Registry, d Document) (DocumentOutcome, error) {
	e, err := payloadAs[E](d)
	if err != nil {
		return DocumentOutcome{}, err
	}
	out := p.Dispatch(ctx, r, d.Meta, e)
	return DocumentOutcome{Executions: out.Executions, RecordErr: out.RecordErr}, nil
}

type toolEnd struct {
	Status     events.ToolStatus `json:"status,omitempty"`
	DeniedBy   events.DeniedBy   `json:"denied_by,omitempty"`
	Stack      string            `json:"stack,omitempty"`
	Context    string            `json:"additional_context,omitempty"`
	ExitCode   *int              `json:"exit_code,omitempty"`
	DurationMS int64             `json:"duration_ms,omitempty"`
	Suppress   bool              `json:"suppress_output,omitempty"`
}

func readToolResult(d Document) (ToolDone, ToolOutcome, error) {
	end, err := payloadAs[toolEnd](d)
	if err != nil {
		return ToolDone{}, ToolOutcome{}, err
	}
	if end.Status == "" {
		end.Status = events.ToolSuccess
		if d.Error != "" {
			end.Status = events.ToolError
		}
	}
	done := ToolDone{Call: callOf(d), Duration: time.Duration(end.DurationMS) * time.Millisecond}
	return done, ToolOutcome{
		Status: end.Status, DeniedBy: end.DeniedBy, Result: d.Result, Error: d.Error,
		Stack: end.Stack, Context: end.Context, ExitCode: end.ExitCode, Suppress: end.Suppress,
	}, nil
}

func writeToolResult(done ToolDone, o ToolOutcome, d *Document) (err error) {
	d.Tool, d.Args, d.Result, d.Error = done.Call.Tool, done.Call.Args, o.Result, o.Error
	d.Payload, err = Marshal(toolEnd{
		Status: o.Status, DeniedBy: o.DeniedBy, Stack: o.Stack, Context: o.Context, ExitCode: o.ExitCode,
		DurationMS: done.Duration.Milliseconds(), Suppress: o.Suppress,
	})
	return err
}

func replyToolResult(now ToolOutcome, r *Reply) (ToolOutcome, error) {
	now.Context = joinContext(now.Context, r.Context)
	if r.Patch == "" {
		return now, nil
	}
	err := decodePatch(r.Patch, &now)
	return now, err
}

func showToolResult(o ToolOutcome, to *DocumentOutcome) (err error) {
	to.Context = o.Context
	to.Value, err = Marshal(o)
	return err
}

func replyJSON(now JSON, r *Reply) (JSON, error) {
	if r.Patch == "" {
		return now, nil
	}
	return r.Patch, nil
}

func showJSON(v JSON, to *DocumentOutcome) error {
	to.Value = v
	return nil
}
