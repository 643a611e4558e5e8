package rulestest

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Chaos returns a random history of n events. It uses few names and big jumps of time, so that many
// events affect the same issue. The history has no expected issues.
func Chaos(seed uint64, n int) Scenario {
	c := &chaos{rng: rand.New(rand.NewPCG(seed, 99))}
	sc := Scenario{Name: fmt.Sprintf("C%03d", seed), Title: "chaos"}
	for t := 0.0; len(sc.Events) < n; {
		t += math.Exp(c.rng.Float64()*c.rng.Float64()*12) - 1 // advance by up to two days
		e := c.event()
		e.ID, e.T = fmt.Sprintf("%s-%05d", sc.Name, len(sc.Events)), t
		if c.rng.IntN(12) == 0 { // late
			e.T -= math.Exp(c.rng.Float64() * 9)
		}
		if e.Ev == "human" {
			e.Event = fmt.Sprintf("%s-%05d", sc.Name, c.rng.IntN(len(sc.Events)+1))
		}
		sc.Events = append(sc.Events, e)
	}
	return sc
}

type chaos struct{ rng *rand.Rand }

func (c *chaos) one(of ...string) string { return of[c.rng.IntN(len(of))] }

func (c *chaos) event() Event {
	run := c.rng.IntN(14)
	types := []string{"PLAN", "REVIEW", "TRIAGE", "RESOLVE", "AUTOPILOT"}
	e := Event{
		Tenant: c.one("acme", "acme", "acme", "beta"), Run: fmt.Sprintf("r%d", run), Type: types[run%5],
		Ev: c.one("start", "step", "step", "step", "step", "step", "step", "end", "end", "human", "tick", "error"), Meta: map[string]any{},
	}
	c.meta(e.Meta)
	switch e.Ev {
	case "step":
		e.Role = c.one("CODER", "PLANNER", "VALIDATOR")
		e.Step, e.Status = e.Role, c.one("failed", "failed", "completed", "completed", "completed", "skipped", "running", "pending")
		if e.Status == "failed" {
			e.Err = c.one("", "boom", "lint gate red", "cannot load maple", "disk is full", "timeout after 31s")
		} else {
			e.Out = c.text()
		}
	case "end":
		if e.OK = c.rng.IntN(2) == 0; !e.OK {
			e.Err = c.one("", "", "aborted", "boom")
		} else {
			e.Out = c.text()
		}
	case "error":
		e.Err = c.one("boom", "connection reset")
	case "human":
		e.Run, e.Type, e.Meta = "", "", nil
		e.Action, e.By = c.one("not_planned", "closed", "reopened", "assigned", "retitled"), "dana"
	case "tick":
		e.Type, e.Meta = "", nil
	}
	return e
}

func (c *chaos) meta(m map[string]any) {
	maybe := func(odds int, name string, v any) {
		if c.rng.IntN(odds) == 0 {
			m[name] = v
		}
	}
	maybe(2, "complexity", float64(1+c.rng.IntN(4)))
	maybe(2, "target", c.one("x", "y"))
	maybe(4, "workItem", c.one("pr#1", "pr#2", "pr#3"))
	maybe(8, "parentRun", fmt.Sprintf("r%d", c.rng.IntN(14)))
	maybe(8, "errorClass", c.one("rate_limit", "provider_unavailable"))
	maybe(10, "severity", c.one("critical", "low"))
	maybe(10, "partialSuccess", true)
}

func (c *chaos) text() string {
	return c.one("ok", "ok", "ok", "Follow-up: add retry to the webhook client.", "Done: add retry to the webhook client.",
		"Follow-up: migrate the billing schema. Out of scope: rename the flags. Next step: measure the start. TODO: drop the old protocol.",
		"Resolved 3 of 5 conflicts", "No follow-up needed.")
}
