package rules_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/costly"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An event costs by its size, and not by its content.
func TestApply_CostsOfPayloads(t *testing.T) {
	for kind, first := range map[events.Kind]string{
		events.RunFinished: `"success":true`, events.ToolResult: `"status":"success"`, events.ToolBefore: `"verdict":"deny"`,
	} {
		t.Run(string(kind), func(t *testing.T) {
			costly.Check(t, first, 60, 1, func(_, payload string) {
				s := rules.NewState(nil)
				e := events.Event{
					ID: "e", Source: "/t", Type: kind.Type(), Run: "r", ToolCall: "c", Tenant: "acme", Time: epoch, Data: []byte(payload),
				}
				for range 2 {
					if _, err := s.Apply(e, rules.DefaultConfig()); err != nil {
						t.Error(err)
					}
					e.Data = append([]byte(`{"n":1,`), e.Data[1:]...)
				}
			})
		})
	}
}
