// Package orchestrator is an example of a pipeline of four agents with hooks.
//
// A foreman runs a planner, a coder with a sub-agent, and a reviewer. One tool fails, one call is
// denied, and one model is overloaded. The agents are scripts instead of models. All other parts
// are as in a real orchestrator.
package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
	"github.com/hooktrail/hooktrail/pkg/hooks/provider"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// Publish runs the pipeline once and publishes its events over nc. It returns when the stream has
// stored all events. The folder dir contains the unsent events.
func Publish(ctx context.Context, nc *nats.Conn, dir string, out io.Writer) (err error) {
	redactor, err := redact.New(redact.Options{})
	if err != nil {
		return err
	}
	publisher, err := publish.Open(ctx, nc, publish.Options{Dir: dir, Name: "engine", Redactor: redactor})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, publisher.Close(ctx)) }()
	pipeline, err := New(publisher, out)
	if err != nil {
		return err
	}
	return errors.Join(pipeline.Run(ctx, "fix-parser", "Fix the parser"), pipeline.Close(ctx), publisher.Flush(ctx))
}

// Pipeline runs the agents with their hooks.
type Pipeline struct {
	engine *hooks.Engine
	out    io.Writer
}

// New returns a pipeline that prints its steps to out and records events with appender. The
// appender is usually a publish.Publisher.
func New(appender hooks.Appender, out io.Writer) (*Pipeline, error) {
	rules, err := provider.Default(policy.Config{AllowedWritePaths: []string{"src/**"}})
	if err != nil {
		return nil, err
	}
	budget, err := provider.NewBudget(provider.BudgetOptions{
		Limit: 1, Prices: map[string]provider.Price{"large": {Input: 10, Output: 50}, "small": {Input: 1, Output: 5}}, Cheap: "small",
	})
	if err != nil {
		return nil, err
	}
	resilience := provider.NewResilience(provider.ResilienceOptions{Fallbacks: []string{"small"}})
	registry := hooks.NewRegistry(hooks.Options{Appender: appender})
	if _, err := registry.Use(provider.Composite(provider.DenyWins, rules, budget, resilience)); err != nil {
		return nil, err
	}
	p := &Pipeline{out: out, engine: hooks.NewEngine(registry, hooks.Meta{Tenant: "default", TeamRoot: "/work"})}
	hooks.StepBefore.On(registry, p.standards, hooks.Name("standards"))
	return p, nil
}

func (p *Pipeline) standards(context.Context, hooks.Meta, hooks.Step) (*hooks.StepDecision, error) {
	return hooks.ModifyStep(`{"standards":"tests first"}`), nil
}

// Run runs the pipeline once. goal is the task of the run with this id.
func (p *Pipeline) Run(ctx context.Context, id, goal string) error {
	session := hooks.Session{From: "startup", Model: "large"}
	return p.engine.Session(ctx, id, session, func(ctx context.Context, _ hooks.SessionOutcome) error {
		info := hooks.RunInfo{ID: id, Type: "RESOLVE", Agent: "foreman", Role: "FOREMAN", Title: goal, Model: "large"}
		return p.engine.Run(ctx, info, func(ctx context.Context) error {
			plan, err := p.step(ctx, "plan", "planner", hooks.JSON(`{}`), p.plan)
			if err != nil {
				return err
			}
			code, err := p.step(ctx, "code", "coder", plan, p.code)
			if err != nil {
				return err
			}
			_, err = p.step(ctx, "review", "reviewer", code, p.review)
			return err
		})
	})
}

func (p *Pipeline) step(
	ctx context.Context, id, agent string, state hooks.JSON, act func(context.Context, hooks.Attempt) (hooks.JSON, error),
) (hooks.JSON, error) {
	roles := map[string]string{"planner": "PLANNER", "coder": "CODER", "reviewer": "REVIEWER"}
	return p.engine.Step(ctx, hooks.StepInfo{ID: id, Agent: agent, Role: roles[agent], State: state, Model: "large"}, act)
}

func (p *Pipeline) plan(ctx context.Context, a hooks.Attempt) (hooks.JSON, error) {
	if a.Model == "large" {
		return "", &hooks.TypedError{Type: hooks.ModelError, Model: a.Model, Err: errors.New("model is overloaded")}
	}
	fmt.Fprintf(p.out, "planner plans with %s, attempt %d\n", a.Model, a.Number)
	hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 900, Output: 100}, Summary: "fix the parser, then test"})
	return `{"plan":["fix","test"]}`, nil
}

func (p *Pipeline) code(ctx context.Context, _ hooks.Attempt) (hooks.JSON, error) {
	p.call(ctx, "edit", "Write", `{"file_path":"src/parse.go","content":"package src"}`, "written", nil)
	p.call(ctx, "test", "Bash", `{"command":"go test ./..."}`, "", errors.New("FAIL src/parse_test.go:12"))
	p.call(ctx, "push", "Bash", `{"command":"git push --force origin main"}`, "pushed", nil)
	err := p.engine.Subagent(ctx, hooks.Subagent{ID: "scout", Name: "scout", Model: "large", TaskType: "search"},
		func(ctx context.Context, _ hooks.SubagentOutcome) error {
			p.call(ctx, "grep", "Grep", `{"pattern":"func Parse"}`, "src/parse.go:3", nil)
			hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 500, Output: 50}})
			return nil
		})
	hooks.Report(ctx, hooks.Notes{Files: []string{"src/parse.go"}, Summary: "fixed; the push is left to a person"})
	return `{"files":["src/parse.go"]}`, err
}

func (p *Pipeline) review(ctx context.Context, a hooks.Attempt) (hooks.JSON, error) {
	standards, _ := a.State.Text("standards")
	fmt.Fprintf(p.out, "reviewer holds it to %q\n", standards)
	p.call(ctx, "read", "Read", `{"file_path":"src/parse.go"}`, "package src", nil)
	return `{"approved":true}`, nil
}

func (p *Pipeline) call(ctx context.Context, id, tool string, args hooks.JSON, result string, fails error) {
	out, err := p.engine.Tool(ctx, hooks.ToolCall{ID: id, Tool: tool, Args: args},
		func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
			if fails != nil {
				return "", fails
			}
			return hooks.Marshal(result)
		})
	shown := string(out.Result)
	switch {
	case errors.Is(err, hooks.ErrDenied):
		shown = "denied: " + out.Error
	case out.Status == events.ToolError:
		shown = "error: " + out.Error
	}
	fmt.Fprintf(p.out, "%s %s: %s\n", p.engine.Meta(ctx).Agent, tool, shown)
}

// Close waits until hooks that exceeded their timeout have returned.
func (p *Pipeline) Close(ctx context.Context) error { return p.engine.Registry().Close(ctx) }
