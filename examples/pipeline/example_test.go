// Package pipeline shows the hooks of the agent hook policy, called from a pipeline with its own
// steps.
package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// notify is a hook that skips the tenant "test".
type notify struct{}

func (notify) Name() string { return "notify" }

func (notify) IsEnabled(_ context.Context, meta hooks.Meta) bool { return meta.Tenant != "test" }

func (notify) AfterStep(_ context.Context, meta hooks.Meta, data events.StepFinishedData) error {
	fmt.Println("hook:", data.AgentRole, data.StepStatus, data.OutputSummary)
	return nil
}

// trail is a stand-in for a publish.Publisher.
type trail struct{}

func (trail) Append(_ context.Context, e events.Event) (events.Event, error) {
	fmt.Println("recorded:", e.Kind(), "for", e.Hooks, "in", e.AgentFS)
	return e, nil
}

func Example() {
	for name, value := range map[string]string{
		hooks.EnvAgentFSEnabled: "true", hooks.EnvAgentFSID: "gwi", hooks.EnvBeadsEnabled: "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Println(err)
		}
		defer func() { _ = os.Unsetenv(name) }()
	}
	ctx := context.Background()
	runner := hooks.RunnerFromEnv(trail{})
	if err := runner.Use(notify{}); err != nil {
		fmt.Println(err)
		return
	}
	at := hooks.AgentRun{
		Tenant: "acme", Run: "run-1", RunType: "RESOLVE", Step: "init", AgentRole: "FOREMAN",
		StepStatus: events.StepRunning, Time: time.Date(2025, 12, 15, 0, 0, 0, 0, time.UTC),
	}
	runner.RunStart(ctx, at)
	at.Step, at.AgentRole, at.StepStatus, at.OutputSummary = "step-1", "CODER", events.StepCompleted, "Applied 3 conflict resolutions"
	runner.AfterStep(ctx, at)
	runner.RunEnd(ctx, at, true)
	if err := runner.Close(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// recorded: run.started for agentfs,beads in gwi
	// hook: CODER completed Applied 3 conflict resolutions
	// recorded: step.finished for agentfs,beads in gwi
	// recorded: run.finished for agentfs,beads in gwi
}
