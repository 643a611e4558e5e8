package amplifier_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func brief(tb testing.TB, e events.Event) string {
	tb.Helper()
	s := e.Run
	if e.ParentRun != "" {
		s += "<" + e.ParentRun
	}
	s += " " + string(e.Kind())
	switch e.Kind() {
	case events.Custom:
		s += " " + ingesttest.Payload[events.CustomData](tb, e).Name
	case events.ToolBefore:
		s += " " + ingesttest.Payload[events.ToolBeforeData](tb, e).Tool
	case events.ToolResult:
		p := ingesttest.Payload[events.ToolResultData](tb, e)
		s += " " + p.Tool + " " + string(p.Status)
		if p.ExitCode != nil {
			s += fmt.Sprint(" ", *p.ExitCode)
		} else if p.Error != nil {
			s += " " + p.Error.Message
		}
	case events.Error:
		s += " " + ingesttest.Payload[events.ErrorData](tb, e).Error.Class
	case events.Approval:
		s += " " + string(ingesttest.Payload[events.ApprovalData](tb, e).Verdict)
	case events.SubagentStart:
		s += " " + ingesttest.Payload[events.SubagentStartData](tb, e).Subagent
	case events.StepFinished:
		p := ingesttest.Payload[events.StepFinishedData](tb, e)
		if p.TokensUsed == nil {
			p.TokensUsed = &events.Tokens{}
		}
		s += fmt.Sprintf(" %s %d/%d %d", p.StepStatus, p.TokensUsed.Input, p.TokensUsed.Output, p.ToolErrors)
	case events.RunFinished:
		p := ingesttest.Payload[events.RunFinishedData](tb, e)
		s += fmt.Sprintf(" %t %s", p.Success, p.Reason)
	}
	return strings.TrimSpace(s)
}
