package rules_test

import (
	"slices"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A row without types is valid for all run types.
var rows = []struct {
	name  string
	types []string
	make  func(h *history)
	want  func(typ string) []summary
}{
	{
		"TrackedTypeOpensAtStart", tracked, func(h *history) { h.start(nil) },
		one(rules.Tracking, "", rules.Open, ""),
	},
	{
		"TrackedTypeInProgress", tracked,
		func(h *history) { h.start(nil).step("s1", events.StepCompleted, "ok", nil) },
		one(rules.Tracking, "", rules.InProgress, "Work goes on"),
	},
	{
		"TrackedTypeCloses", tracked,
		func(h *history) { h.start(nil).step("s1", events.StepCompleted, "ok", nil).end(true, nil) },
		one(rules.Tracking, "", rules.Closed, rules.ReasonCompleted),
	},
	{
		"TrackedTypeBlocksAtFailedEnd", tracked,
		func(h *history) { h.start(nil).step("s1", events.StepCompleted, "ok", nil).end(false, nil) },
		one(rules.Tracking, "", rules.Blocked, "Run failed"),
	},
	{"OtherTypeStarts", untracked, func(h *history) { h.start(nil) }, none},
	{
		"ComplexStepCreatesAndNeverCloses", all,
		func(h *history) { h.start(nil).step("s1", events.StepCompleted, "ok", complexity(3)) },
		one(rules.Tracking, "", rules.InProgress, "Work goes on"),
	},
	{
		"ComplexRunCloses", all,
		func(h *history) { h.start(complexity(5)).step("s1", events.StepCompleted, "ok", nil).end(true, nil) },
		one(rules.Tracking, "", rules.Closed, rules.ReasonCompleted),
	},
	{
		"StepFailedBlocks", all,
		func(h *history) { h.start(complexity(4)).step("s1", events.StepFailed, "", nil) },
		one(rules.Tracking, "", rules.Blocked, "Step CODER failed: boom"),
	},
	{
		"StepFailedInSimpleRunIsAFailure", untracked,
		func(h *history) { h.start(nil).step("s1", events.StepFailed, "", nil) },
		failed("CODER failed: boom", "Step CODER failed"),
	},
	{
		"StepRecovers", all,
		func(h *history) {
			h.start(complexity(4)).step("s1", events.StepFailed, "", nil).step("s1", events.StepCompleted, "ok", nil)
		},
		one(rules.Tracking, "", rules.InProgress, "Work goes on"),
	},
	{
		"RoleRecovers", all,
		func(h *history) {
			h.start(complexity(4)).step("s1", events.StepFailed, "", nil).step("s2", events.StepCompleted, "ok", nil)
		},
		one(rules.Tracking, "", rules.InProgress, "Work goes on"),
	},
	{
		"FailedRunWithoutSteps", untracked, func(h *history) { h.start(nil).end(false, nil) },
		failed("run failed", "The run failed"),
	},
	{
		"RunGoesOnAfterItsEnd", tracked,
		func(h *history) { h.start(nil).end(true, nil).step("s1", events.StepRunning, "", nil) },
		one(rules.Tracking, "", rules.InProgress, "Run goes on"),
	},
	{
		"SimpleCompletion", untracked,
		func(h *history) { h.start(nil).step("s1", events.StepCompleted, "ok", complexity(2)).end(true, nil) }, none,
	},
	{
		"PartialSuccessClosesAndLeavesFollowups", tracked,
		func(h *history) {
			h.start(nil).step("s1", events.StepCompleted, "Resolved 3 of 5 conflicts", map[string]any{
				"partial_success": true, "remaining": []any{"merge a.go", "merge b.go"},
			}).end(true, nil)
		},
		func(typ string) []summary {
			return []summary{
				{rules.Followup, "merge a.go", rules.Open, "", 1},
				{rules.Followup, "merge b.go", rules.Open, "", 1},
				{rules.Tracking, "GWI: " + typ + " run r1", rules.Closed, rules.ReasonCompleted, 0},
			}
		},
	},
	{
		"PartialSuccessThatListsNothing", untracked,
		func(h *history) {
			h.step("s1", events.StepCompleted, "Resolved 3 of 5 conflicts. Fine.", map[string]any{"partial_success": true}).
				end(true, map[string]any{"partial_success": true})
		},
		func(string) []summary {
			return []summary{{
				rules.Followup, "Finish what step CODER of run r1 left over: Resolved 3 of 5 conflicts",
				rules.Open, "", 0,
			}}
		},
	},
	{
		"DeferredWork", untracked,
		func(h *history) {
			h.step("s1", events.StepCompleted, "Did it. Out of scope: migrate the schema. Follow-up: add retry.", nil).end(true, nil)
		},
		func(string) []summary {
			return []summary{
				{rules.Followup, "add retry", rules.Open, "", 0},
				{rules.Followup, "migrate the schema", rules.Open, "", 0},
			}
		},
	},
	{
		"DeferredWorkBeyondThreeGoesIntoOneBundle", untracked,
		func(h *history) {
			h.step("s1", events.StepCompleted, "", map[string]any{"deferred": []any{"item one", "item two"}}).
				step("s2", events.StepCompleted, "", map[string]any{"deferred": []any{"item two", "item three", "item four"}}).
				step("s3", events.StepCompleted, "", map[string]any{"deferred": "item five"}).end(true, nil)
		},
		func(typ string) []summary {
			return []summary{
				{rules.Followup, "GWI: " + typ + " run r1: more that was left over", rules.Open, "", 0},
				{rules.Followup, "item one", rules.Open, "", 0},
				{rules.Followup, "item three", rules.Open, "", 0},
				{rules.Followup, "item two", rules.Open, "", 0},
			}
		},
	},
	{
		"LaterReportWithdrawsWhatItNoLongerDefers", untracked,
		func(h *history) {
			h.step("s1", events.StepCompleted, "TODO: write the docs", nil).step("s1", events.StepCompleted, "All is done", nil)
		},
		func(string) []summary {
			return []summary{{
				rules.Followup, "write the docs", rules.Closed,
				"Withdrawn: a later report no longer leaves this over", 0,
			}}
		},
	},
}

var (
	tracked   = []string{"AUTOPILOT", "RESOLVE"}
	untracked = []string{"TRIAGE", "PLAN", "REVIEW", ""}
	all       = slices.Concat(tracked, untracked)
)

func none(string) []summary { return nil }

func failed(title, reason string) func(string) []summary {
	return func(typ string) []summary {
		return []summary{{rules.Failure, "GWI: " + typ + " " + title, rules.Open, reason, 0}}
	}
}

func one(kind rules.Kind, suffix string, status rules.Status, reason string) func(string) []summary {
	return func(typ string) []summary {
		return []summary{{kind, "GWI: " + typ + " run r1" + suffix, status, reason, 0}}
	}
}
