package metrics

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/costly"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An event costs by its size, and not by its content.
func TestState_CostsOfPayloads(t *testing.T) {
	for _, kind := range []events.Kind{events.ToolBefore, events.ToolResult, events.RunFinished} {
		t.Run(string(kind), func(t *testing.T) {
			costly.Check(t, `"tool":"Bash"`, 60, 1, func(_, payload string) {
				e := event(t, 0, kind, nil, call("c"))
				e.Data = []byte(payload)
				if err := apply(t, t.TempDir(), 100, messages(1, e)...); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
