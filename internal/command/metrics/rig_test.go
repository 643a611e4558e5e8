package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func publish(tb testing.TB, js jetstream.JetStream, all ...events.Event) {
	tb.Helper()
	for _, e := range all {
		subject, err := subjects.Space{}.Event(e.Tenant, e.Producer, e.Run, e.Kind())
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := js.PublishMsg(tb.Context(), &nats.Msg{Subject: subject, Data: e.Encode()}); err != nil {
			tb.Fatal(err)
		}
	}
}

func recorded(tb testing.TB) []events.Event {
	tb.Helper()
	start := time.Date(2026, 3, 1, 10, 0, 0, 123_456_789, time.UTC)
	var list []events.Event
	add := func(kind events.Kind, call, step string, payload any) {
		n := len(list)
		e := events.Event{
			ID: fmt.Sprintf("e%d", n), Source: "/engine", Type: kind.Type(), Time: start.Add(time.Duration(n) * time.Second),
			Tenant: "acme", Producer: "p", Sequence: uint64(n + 1), Run: "r1", Subject: "r1", AgentRole: "coder", ToolCall: call, Step: step,
		}
		if err := e.SetData(payload); err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	add(events.RunStarted, "", "", events.RunStartedData{RunType: "resolve"})
	add(events.ToolBefore, "c1", "", events.ToolBeforeData{Tool: "Bash"})
	add(events.ToolResult, "c1", "", events.ToolResultData{Status: events.ToolSuccess})
	add(events.ToolBefore, "c2", "", events.ToolBeforeData{Tool: "Bash"})
	add(events.ToolResult, "c2", "", events.ToolResultData{Status: events.ToolError, DurationMS: 40})
	add(events.ToolBefore, "c3", "", events.ToolBeforeData{Tool: "Read"})
	add(events.ToolBefore, "c4", "", events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny}})
	add(events.ResponseCompleted, "", "", events.ResponseCompletedData{
		Message: "m1", TokensUsed: &events.Tokens{Input: 5, Output: 9, CacheRead: 100, CacheCreation: 10},
	})
	add(events.ResponseCompleted, "", "", events.ResponseCompletedData{Message: "m2", TokensUsed: &events.Tokens{Input: 2}})
	add(events.StepFinished, "", "s1", events.StepFinishedData{AgentRole: "CODER", StepStatus: events.StepFailed, DurationMS: 9000})
	add(events.RunFinished, "", "", events.RunFinishedData{DurationMS: 11_000})
	return list
}
