// Package registry shows the hooks of the agent hooks story. It registers hooks for one agent or
// for all with "*", lists them and unregisters them.
package registry_test

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// client has the three calls of the story.
type client struct{ registry *hooks.Registry }

func (c client) before(agent string, hook func(agent string, state hooks.JSON) hooks.JSON) (hooks.ID, error) {
	match, err := hooks.ForAgent(agent)
	if err != nil {
		return "", err
	}
	return hooks.StepBefore.On(c.registry, func(_ context.Context, meta hooks.Meta, step hooks.Step) (*hooks.StepDecision, error) {
		return hooks.ModifyStep(hook(meta.Agent, step.State)), nil
	}, hooks.Match(match)), c.registry.Err()
}

func (c client) after(agent string, hook func(agent string, state, output hooks.JSON) *hooks.JSON) (hooks.ID, error) {
	match, err := hooks.ForAgent(agent)
	if err != nil {
		return "", err
	}
	return hooks.StepOutput.On(c.registry, func(_ context.Context, _ hooks.Meta, s hooks.StepState, output hooks.JSON) (*hooks.JSON, error) {
		return hook(s.Agent, s.State, output), nil
	}, hooks.Match(match)), c.registry.Err()
}

func Example() {
	c := client{hooks.NewRegistry(hooks.Options{})}
	inject, err := c.before("analyst", func(string, hooks.JSON) hooks.JSON { return `{"custom_context":"my data"}` })
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.after("*", func(agent string, state, output hooks.JSON) *hooks.JSON {
		fmt.Println(agent, "started from", state, "and made", output)
		return nil // unchanged
	}); err != nil {
		fmt.Println(err)
		return
	}
	engine := hooks.NewEngine(c.registry, hooks.Meta{})
	act := func(agent string) {
		_, err := engine.Step(context.Background(), hooks.StepInfo{Agent: agent, State: `{"seed":"s"}`},
			func(context.Context, hooks.Attempt) (hooks.JSON, error) { return `{"decisions":[]}`, nil })
		if err != nil {
			fmt.Println(err)
		}
	}
	act("analyst")
	act("dev")
	fmt.Println("unregistered:", c.registry.Off(inject))
	fmt.Println("again:", c.registry.Off(inject))
	act("analyst")
	for _, h := range c.registry.List() {
		fmt.Println("left:", h.Point, "for", h.Agent)
	}
	// Output:
	// analyst started from {"custom_context":"my data","seed":"s"} and made {"decisions":[]}
	// dev started from {"seed":"s"} and made {"decisions":[]}
	// unregistered: true
	// again: false
	// analyst started from {"seed":"s"} and made {"decisions":[]}
	// left: step.output for *
}
