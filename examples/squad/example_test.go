// Package squad shows a provider in the style of the HooksProvider document: a type with two hook
// methods, and the default policies.
package squad_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
	"github.com/hooktrail/hooktrail/pkg/hooks/provider"
)

// telemetry is a provider with hooks for sub-agents only.
type telemetry struct{}

func (telemetry) Name() string { return "telemetry" }

func (telemetry) SubagentStart(_ context.Context, meta hooks.Meta, s hooks.Subagent) (*hooks.SubagentDecision, error) {
	fmt.Println("spawn", s.Name, "with", s.Model, "by", meta.Agent)
	return hooks.NoOpinion[hooks.SubagentDecision](), nil
}

func (telemetry) SubagentStop(_ context.Context, _ hooks.Meta, data events.SubagentStoppedData) error {
	fmt.Println("complete", data.Name, data.Status, data.TotalTokens, "tokens")
	return nil
}

func Example() {
	ctx := context.Background()
	rules, err := provider.Default(policy.Config{AllowedWritePaths: []string{"src/**"}, ScrubPII: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	budget, err := provider.NewBudget(provider.BudgetOptions{
		Limit: 10, Prices: map[string]provider.Price{"opus": {Input: 15, Output: 75}, "haiku": {Input: 1, Output: 5}}, Cheap: "haiku",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := hooks.NewRegistry(hooks.Options{})
	if _, err := registry.Use(provider.Composite(provider.DenyWins, rules, budget, telemetry{})); err != nil {
		fmt.Println(err)
		return
	}
	engine := hooks.NewEngine(registry, hooks.Meta{Agent: "flight", TeamRoot: "/team"})

	out, _ := engine.Tool(ctx, hooks.ToolCall{Tool: "edit", Args: `{"path":"docs/plan.md"}`}, nil)
	fmt.Println(out.Error)
	for _, agent := range []string{"eecom", "gnc", "retro"} {
		err := engine.Subagent(ctx, hooks.Subagent{ID: agent, Name: agent, Model: "opus"},
			func(ctx context.Context, start hooks.SubagentOutcome) error {
				hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Output: 100_000}})
				// The main agent's tokens count too.
				return budget.Spend(ctx, "opus", events.Tokens{Input: 70_000})
			})
		if denied, ok := errors.AsType[*hooks.DeniedError](err); ok {
			fmt.Println("denied", agent+":", denied.Reason)
		}
	}
	// Output:
	// File write blocked: "docs/plan.md" does not match allowed paths. Allowed patterns: src/**
	// spawn eecom with opus by flight
	// complete eecom completed 100000 tokens
	// spawn gnc with haiku by flight
	// complete gnc completed 100000 tokens
	// denied retro: Budget 101% consumed. Pausing spawns.
}
