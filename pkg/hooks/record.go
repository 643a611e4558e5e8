package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const recordTimeout = 5 * time.Second

func (f *dispatch) record(kind events.Kind, payload any) (string, error) {
	return f.event, f.append(f.ctx, f.event, kind, f.meta.Time, payload)
}

func (f *dispatch) recordExecuted(ctx context.Context, x Execution, late bool) {
	if f.event == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer stop()
	data := events.HookExecutedData{Execution: x, Dispatch: f.event, Late: late}
	if err := f.append(ctx, events.NewID(), events.HookExecuted, time.Now(), data); err != nil {
		f.registry.opts.Logger.ErrorContext(ctx, "execution not recorded",
			"hook", x.Hook, "point", x.Point, "event", f.event, "error", faultOf(err))
	}
}

func (f *dispatch) append(ctx context.Context, id string, kind events.Kind, at time.Time, payload any) error {
	m := &f.meta
	e := events.Event{
		ID: id, Source: f.registry.opts.Source, Type: kind.Type(), Subject: m.Run, Time: at.UTC(), Tenant: m.Tenant,
		Run: m.Run, Step: m.Step, Session: m.Session, Agent: m.Agent, AgentRole: m.AgentRole, RunType: m.RunType,
		ParentAgent: m.ParentAgent, ParentRun: m.ParentRun, ToolCall: m.ToolCall, User: m.User,
		AgentFS: m.AgentFS, Hooks: m.Hooks, TraceParent: m.Traceparent,
	}
	if err := e.SetData(payload); err != nil {
		return fmt.Errorf("record %s: %w", id, err)
	}
	if ctx.Err() != nil || hasEnded(ctx) {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer stop()
	}
	if _, err := f.registry.opts.Appender.Append(ctx, e); err != nil {
		return fmt.Errorf("record %s: %w", id, err)
	}
	return nil
}

func (f *dispatch) joined() error {
	list := make([]error, len(f.failures))
	for i, err := range f.failures {
		list[i] = err
	}
	return errors.Join(list...)
}

func rawOf(j JSON) json.RawMessage {
	raw := j.Raw()
	if raw == nil || events.IsData(raw) {
		return raw
	}
	var e events.Event
	if e.SetData(raw) == nil && events.IsData(e.Data) {
		return e.Data
	}
	text, err := Marshal(string(j))
	if err != nil {
		return nil // cannot happen, because a string can always be encoded
	}
	return text.Raw()
}
