package runtree_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Hooks and a transcript that report the same start of a sub-agent make one row. A start in another
// step has its own.
func TestTrace_StartedOnce(t *testing.T) {
	l := newTimeline(t)
	l.add(events.SubagentStart, "s1", "", events.SubagentStartData{Subagent: "a1"})
	l.add(events.SubagentStart, "s1", "", events.SubagentStartData{Subagent: "a1", Name: "Scout", TaskType: "general-purpose"})
	l.add(events.SubagentStart, "s1", "", events.SubagentStartData{Subagent: "a2"})
	l.add(events.SubagentStart, "s2", "", events.SubagentStartData{Subagent: "a1"})
	steps := l.trace().Steps
	if len(steps) != 2 || len(steps[0].Rows) != 2 || len(steps[1].Rows) != 1 {
		t.Fatalf("got %+v", steps)
	}
	if row := steps[0].Rows[0]; row.Name != "general-purpose" || row.Detail != "Scout" || row.Run != "r1/a1" {
		t.Errorf("got %+v", row)
	}
}
