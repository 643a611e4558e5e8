package tail_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/tail"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An import repeats calls and prompts that hooks recorded before. A line that says more is new.
func TestTail_Repeated(t *testing.T) {
	l := newLive(t)
	l.step = "s"
	session := func(verdict events.Verdict, statuses ...events.ToolStatus) {
		l.event("r", "", events.PromptSubmit, events.PromptSubmitData{Prompt: "go", Outcome: events.Outcome{Verdict: verdict}})
		l.call("r", "c", "Bash", "ls", verdict)
		for _, s := range statuses {
			l.event("r", "c", events.ToolResult, events.ToolResultData{Status: s})
		}
	}
	session("", events.ToolError)
	session("", events.ToolSuccess, events.ToolError, events.ToolDenied, events.ToolInterrupted)
	session(events.VerdictDeny, events.ToolSuccess, events.ToolSuccess)
	session("", events.ToolSuccess)
	l.feed.Manifest("p")
	l.write()
	every := []string{
		"r prompt.submit  go ", "r tool.before Bash ls ", "r tool.result Bash ls error",
		"again r prompt.submit  go ", "again r tool.before Bash ls ", "again r tool.result Bash ls success", "again r tool.result Bash ls error",
		"r tool.result Bash ls denied", "again r tool.result Bash ls interrupted",
		"r prompt.submit  go ", "r tool.before Bash ls ", "r tool.result Bash ls success", "again r tool.result Bash ls success",
		"again r prompt.submit  go ", "again r tool.before Bash ls ", "again r tool.result Bash ls success",
	}
	once := slices.DeleteFunc(slices.Clone(every), func(s string) bool { return strings.HasPrefix(s, "again") })
	for _, f := range []tail.Filter{{}, {Once: true}} {
		lines, err := l.tail("", f).Past(t.Context(), time.Time{}, -1)
		if err != nil {
			t.Fatal(err)
		}
		got := sayAll(lines)
		for i, line := range lines {
			if line.Repeated {
				got[i] = "again " + got[i]
			}
		}
		if f.Once {
			want(t, "once", once, got)
		} else {
			want(t, "every", every, got)
		}
	}
}

// A decoy under the id of a call, a result or a prompt does not hide the real one.
func TestTail_SameIDOtherContent(t *testing.T) {
	l := newLive(t)
	l.step = "s"
	for _, text := range []string{"harmless", "harmful"} {
		l.event("r", "", events.PromptSubmit, events.PromptSubmitData{Prompt: text})
		l.call("r", "c", "Bash", text, "")
		l.event("r", "c", events.ToolResult, events.ToolResultData{Status: events.ToolError, Error: &events.Failure{Message: text}})
	}
	l.event("r", "c", events.ToolResult, events.ToolResultData{Status: events.ToolError, Error: &events.Failure{Message: "other"}})
	l.feed.Manifest("p")
	l.write()
	lines, err := l.tail("", tail.Filter{Once: true}).Past(t.Context(), time.Time{}, -1)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "all", []string{
		"r prompt.submit  harmless ", "r tool.before Bash harmless ", "r tool.result Bash harmless error",
		"r prompt.submit  harmful ", "r tool.before Bash harmful ", "r tool.result Bash harmful error", "r tool.result Bash harmful error",
	}, sayAll(lines))
}
