package hooks

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// CreateMessage passes message, a JSON object, through the hooks of message.create, calls insert,
// and dispatches message.created. It returns the error of insert, or the failure of a hook that
// prevents insert.
func (e *Engine) CreateMessage(ctx context.Context, message JSON, insert func(context.Context, JSON) error) error {
	before := MessageCreate.Dispatch(ctx, e.registry, e.Meta(ctx), NoSubject{}, message)
	e.recorded(ctx, MessageCreate.Kind(), before.RecordErr)
	if before.Prevented {
		return fmt.Errorf("create message: %w", before.Err)
	}
	err := e.guard(ctx, MessageCreate.Kind(), func() error { return insert(ctx, before.Value) })
	if err != nil {
		return err
	}
	notify(ctx, e, MessageCreated, messagePayload(before.Value, events.Outcome{}))
	return nil
}

// UpdateMessage changes a message. It passes updates, a JSON object, through the hooks of
// message.update, and calls the function update with the result. It then dispatches
// message.updated. The errors are the same as in [Engine.CreateMessage].
func (e *Engine) UpdateMessage(
	ctx context.Context, id MessageID, updates JSON, update func(ctx context.Context, updates JSON) (message JSON, err error),
) error {
	before := MessageUpdate.Dispatch(ctx, e.registry, e.Meta(ctx), id, updates)
	e.recorded(ctx, MessageUpdate.Kind(), before.RecordErr)
	if before.Prevented {
		return fmt.Errorf("update message %s: %w", id, before.Err)
	}
	var message JSON
	err := e.guard(ctx, MessageUpdate.Kind(), func() (err error) {
		message, err = update(ctx, before.Value)
		return err
	})
	if err != nil {
		return err
	}
	data := messagePayload(message, events.Outcome{})
	data.Message, data.Updates = string(id), before.Value.Raw()
	notify(ctx, e, MessageUpdated, data)
	return nil
}
