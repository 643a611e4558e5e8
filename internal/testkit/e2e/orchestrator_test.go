package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/examples/orchestrator"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const orchestratorOutput = `planner plans with small, attempt 2
coder Write: "written"
coder Bash: error: FAIL src/parse_test.go:12
coder Bash: denied: Shell command blocked: Command contains prohibited pattern "git push --force". Blocked commands: rm -rf, git push --force, git rebase, git reset --hard
scout Grep: "src/parse.go:3"
reviewer holds it to "tests first"
reviewer Read: "package src"
`

// Consecutive events of an agent share a line.
const orchestratorEvents = `fix-parser engine: session.start
fix-parser foreman: run.started
fix-parser planner: step.before error model.switched step.output step.finished
fix-parser coder: step.before tool.before tool.result tool.before error tool.result tool.before subagent.start
fix-parser/scout scout: run.started tool.before tool.result run.finished
fix-parser coder: subagent.stopped step.output step.finished
fix-parser reviewer: step.before tool.before tool.result step.output step.finished
fix-parser foreman: run.finished
fix-parser engine: session.ended
`

func TestOrchestrator(t *testing.T) {
	server := natstest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := orchestrator.Publish(ctx, server.Connect(t), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(orchestratorOutput, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	var stored strings.Builder
	last := ""
	for _, e := range server.Events(t) {
		if e.Kind() == events.RunSealed {
			continue // its place depends on the publisher's batches
		}
		agent := e.Agent
		if agent == "" {
			agent = "engine"
		}
		if now := e.Run + " " + agent; now != last {
			if last != "" {
				stored.WriteByte('\n')
			}
			stored.WriteString(now + ":")
			last = now
		}
		fmt.Fprintf(&stored, " %s", e.Kind())
	}
	stored.WriteByte('\n')
	if diff := cmp.Diff(orchestratorEvents, stored.String()); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}
