package tracker

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var hostile = []string{
	"run $(touch x) and `touch x`; touch x | sh > x",
	"two\nlines\r\nht-forged00000  closed  tracking\tcell\vand\fmore\u0085again\u2028on",
	strings.Repeat("ten thousand characters ", 10_000/24),
	"\x1b[2J\x1b]0;owned\a\x00\x7f\b\b\bcontrolled",
	"right\u202eto left\u2066isolated\u200bzero\ufeff",
	`"quoted", {"json": [1]} \u0000 </script> 'single' \`,
}

// hostileHistory has these texts in every field that an agent chooses.
func hostileHistory(tb testing.TB) (list []events.Event) {
	tb.Helper()
	for i, text := range hostile {
		at := i * 3600
		failed := rulestest.At(tb, "acme", "r"+string(rune('a'+i)), at, events.StepFinished, events.StepFinishedData{
			AgentRole: text, StepStatus: events.StepFailed, OutputSummary: text,
			Error: &events.Failure{Message: text, Class: "E" + string(rune('A'+i))}, Metadata: map[string]any{"target": text},
		})
		failed.RunType = "REVIEW"
		left := rulestest.At(tb, "acme", "l"+string(rune('a'+i)), at+60, events.RunFinished, events.RunFinishedData{
			Success: true, OutputSummary: "Done. Follow-up: " + text,
			Metadata: map[string]any{"deferred": []any{text}, "partial_success": true, "remaining": []any{text + " again"}},
		})
		left.RunType = "REVIEW"
		edit := rulestest.At(tb, "acme", "", at+120, events.IssueEdited, events.IssueEditedData{
			Event: failed.ID, Action: "retitled", By: text, Value: text,
		})
		edit.ID, edit.RunType, edit.Subject = failed.ID+" edited", "", ""
		list = append(list, failed, left, edit)
	}
	last := rulestest.At(tb, "acme", "tick", len(hostile)*3600, events.Custom, events.CustomData{Name: "tick"})
	return append(list, last)
}

// An agent's text cannot add a line or a cell, move the cursor or break JSON.
//
//guarantee:title-hostile
func TestCommands_HostileTexts(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	p := newPipeline(t)
	history := hostileHistory(t)
	p.Publish("engine", history...)
	p.mustDrain()
	list := callJSON[[]tracker.Issue](t, p.DataDir, "list", "--tenant", "acme")
	if len(list) < len(hostile) {
		t.Fatalf("got %d issues, want at least %d", len(list), len(hostile))
	}
	path := rulestest.WriteEvents(t, history...)
	config := rulestest.WriteFile(t, "new.yaml", "followups: 0\nremaining: 0\nstorm: {most: 1}\n")
	commands := [][]string{
		{"list", "--tenant", "acme"},
		{"whatif", "--events", path},
		{"whatif", "--events", path, "--config", config},
		{"whatif", "--config", config, "--nats-url", p.Server.URL()},
	}
	for _, i := range list {
		if n := utf8.RuneCountInString(i.Title); n > 500 || strings.ContainsFunc(i.Title, unicode.IsControl) {
			t.Errorf("a title of %d characters: %q", n, i.Title)
		}
		commands = append(commands, []string{"show", i.ID, "--tenant", "acme"}, []string{"why", i.ID, "--tenant", "acme"})
	}
	for _, e := range history[:len(history)-1] {
		commands = append(commands, []string{"why", e.ID, "--tenant", "acme"})
	}
	for _, args := range commands {
		status, stdout, stderr := call(t, p.DataDir, args...)
		if status != cli.ExitOK {
			t.Errorf("tracker %v: exit status %d: %s", args, status, stderr)
		}
		checkHarmless(t, args, stdout)
		if args[0] == "why" && strings.Count(stdout, "\n") != 1 {
			t.Errorf("tracker %v prints more than a paragraph:\n%s", args, stdout)
		}
		if args[0] == "list" && strings.Count(stdout, "\n") != len(list)+1 {
			t.Errorf("tracker %v prints %d lines for %d issues:\n%s", args, strings.Count(stdout, "\n"), len(list), stdout)
		}
		_, stdout, _ = call(t, p.DataDir, append(args, "--json")...)
		checkHarmless(t, args, stdout)
		if !json.Valid([]byte(stdout)) {
			t.Errorf("tracker %v --json prints no JSON:\n%s", args, stdout)
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("somebody made %v, %v", left, err)
	}
}

func checkHarmless(t *testing.T, args []string, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
		t.Errorf("tracker %v prints %q", args, text[max(0, i-20):min(len(text), i+20)])
	}
	if strings.Contains(text, "\nht-forged") {
		t.Errorf("tracker %v prints a forged line:\n%s", args, text)
	}
}
