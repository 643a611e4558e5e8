package hooks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// CreateMessage calls insert with a message, an object, as the hooks of
// message.create want it, and tells those of message.created after it was
// inserted. If a hook of message.create fails, insert is not called. It returns
// that failure, or the error of insert.
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
	tell(ctx, e, MessageCreated, messageData("", before.Value))
	return nil
}

// UpdateMessage calls update with what is to change of a message, an object, as
// the hooks of message.update want it, and tells those of message.updated of the
// message that update returns. If a hook of message.update fails, update is not
// called. It returns that failure, or the error of update.
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
	data := messageData(id, message)
	data.Updates = before.Value.Raw()
	tell(ctx, e, MessageUpdated, data)
	return nil
}

// messageData returns what is told of a message.
func messageData(id MessageID, message JSON) events.MessageData {
	data := events.MessageData{Message: string(id)}
	var fields struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if message.Decode(&fields) == nil {
		data.Role, data.Content = fields.Role, fields.Content
		if id == "" {
			data.Message = fields.ID
		}
	}
	return data
}
