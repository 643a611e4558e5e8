// Package messages shows the hooks that change messages, the history for a model, and stored tool
// results.
package messages_test

import (
	"context"
	"fmt"
	"regexp"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

var card = regexp.MustCompile(`\b\d{4}[-\s]?\d{4}[-\s]?\d{4}[-\s]?\d{4}\b`)

func Example() {
	ctx := context.Background()
	registry := hooks.NewRegistry(hooks.Options{})
	// filter_messages keeps the last two.
	hooks.MessagesFilter.On(registry, func(_ context.Context, _ hooks.Meta, _ hooks.NoSubject, all []hooks.Message) (*[]hooks.Message, error) {
		last := all[max(0, len(all)-2):]
		return &last, nil
	})
	// before_create_message adds metadata.
	hooks.MessageCreate.On(registry, func(_ context.Context, meta hooks.Meta, _ hooks.NoSubject, message hooks.JSON) (*hooks.JSON, error) {
		fields, err := message.Map()
		if err != nil {
			return nil, err
		}
		fields["metadata"] = map[string]any{"flow_id": meta.Flow, "side": meta.Side}
		message, err = hooks.Marshal(fields)
		return &message, err
	})
	// before_store_tool_result masks card numbers.
	hooks.ToolResultStore.On(registry, func(_ context.Context, _ hooks.Meta, _ hooks.ToolCall, result hooks.JSON) (*hooks.JSON, error) {
		clean := hooks.JSON(card.ReplaceAllString(string(result), "****-****-****-****"))
		return &clean, nil
	})
	// after_tool_call_failure prints an alert and keeps the error.
	hooks.ToolResult.On(registry, func(_ context.Context, meta hooks.Meta, done hooks.ToolDone, out hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
		fmt.Println("alert:", done.Call.Tool, "failed in", meta.Thread+":", out.Error)
		return hooks.Unchanged[hooks.ToolOutcome](), nil
	}, hooks.WhenFailure())

	engine := hooks.NewEngine(registry, hooks.Meta{Thread: "t1", Flow: "f1", Side: "a"})
	store := func(_ context.Context, row hooks.JSON) error {
		fmt.Println("stored:", row)
		return nil
	}
	history := []hooks.Message{{ID: "1"}, {ID: "2"}, {ID: "3"}}
	history = hooks.MessagesFilter.Dispatch(ctx, registry, engine.Meta(ctx), hooks.NoSubject{}, history).Value
	fmt.Println("history:", history[0].ID, history[1].ID)
	if err := engine.CreateMessage(ctx, `{"id":"4","role":"user"}`, store); err != nil {
		fmt.Println(err)
	}
	call := hooks.ToolCall{ID: "c1", Tool: "payment_process"}
	if err := engine.StoreResult(ctx, call, `{"result":"paid with 4111-1111-1111-1111"}`, store); err != nil {
		fmt.Println(err)
	}
	_, _ = engine.Tool(ctx, call, func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
		return "", hooks.Fault("card declined")
	})
	// Output:
	// history: 2 3
	// stored: {"id":"4","metadata":{"flow_id":"f1","side":"a"},"role":"user"}
	// stored: {"result":"paid with ****-****-****-****"}
	// alert: payment_process failed in t1: card declined
}
