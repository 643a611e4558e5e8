package runtree_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/costly"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An event costs by its size, and not by its content.
func TestFold_CostsOfPayloads(t *testing.T) {
	for _, kind := range []events.Kind{events.ToolBefore, events.ToolResult, events.RunFinished} {
		t.Run(string(kind), func(t *testing.T) {
			costly.Check(t, `"tool":"Bash"`, 60, 1, func(_, payload string) {
				l := newTimeline(t)
				l.add(kind, "s", "c", nil).Data = []byte(payload)
				l.trace()
			})
		})
	}
}
