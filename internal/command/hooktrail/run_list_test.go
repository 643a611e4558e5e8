package hooktrail

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A run has no start if all its records are set apart.
func TestWriteRuns_SetApart(t *testing.T) {
	var out bytes.Buffer
	writeRuns(&out, ledger.RunList{Runs: []ledger.RunSummary{{Run: "rq", State: ledger.RunSetApart}}}, 0, nil)
	if text := out.String(); strings.Contains(text, "0001") || !strings.Contains(text, "set-apart") {
		t.Errorf("got %s", text)
	}
}

func hostileRuns() []ledger.RunSummary {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	return []ledger.RunSummary{
		{
			Run: "5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71", Tenant: "default", Agent: "claude-code", Model: "claude-opus-4-1-20250805",
			User: "alice@example.com", Cwd: "/srv/work/a/very/long/path/to/the/project", Branch: "feature/日本語", State: ledger.RunInterrupted,
			Started: at, Ended: at.Add(90 * time.Minute), ToolCalls: 1234, ToolDenied: 12, ToolErrors: 3, ToolInterrupted: 1,
			Tokens: events.Tokens{Input: 1_234_567, Output: 89_012}, Title: strings.Repeat("日本語のタイトル🙂", 20),
		},
		{Run: "5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71/a1b2c3d4e5f6", Tenant: "default", State: ledger.RunOpen, First: at, Last: at, Prompt: "\x1b[2Jevil\x1b]0;owned\a\u202eline\nbreak"},
		{Run: "5e6c1d2a-9999-4c55-9a64-0f6b3c2d9e71", Tenant: "default", State: ledger.RunErased},
	}
}

// The lines fit each width that has room for the columns that are always there.
func TestWriteRuns_Width(t *testing.T) {
	for width := 90; width < 260; width++ {
		var out bytes.Buffer
		writeRuns(&out, ledger.RunList{Runs: hostileRuns(), More: 7}, width, nil)
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := termtext.Width(line); n > width {
				t.Fatalf("%d columns in a terminal of %d: %q", n, width, line)
			}
			if line != termtext.Printable(line) {
				t.Fatalf("not escaped: %q", line)
			}
		}
		for _, word := range []string{"5e6c1d2a-7 ", "5e6c1d2a-7/a1b2c3d4 ", "interrupted", "erased", "DENIED", "TITLE"} {
			if !strings.Contains(out.String(), word) {
				t.Fatalf("width %d lacks %q:\n%s", width, word, out.String())
			}
		}
	}
}

// Without a terminal nothing is left out, and ids are whole.
func TestWriteRuns_NoTerminal(t *testing.T) {
	var out bytes.Buffer
	writeRuns(&out, ledger.RunList{Runs: hostileRuns()}, 0, nil)
	for _, word := range []string{"5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71/a1b2c3d4e5f6 ", "alice@example.c…", "…ry/long/path/to/the/project", "1h 30m", "1,234,567/89,012", "feature/日本語"} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("it lacks %q:\n%s", word, out.String())
		}
	}
}

func TestShortest(t *testing.T) {
	ids := newShortIDs(slices.Values([]string{"session-12", "b", "5e6c1d2a-7b1f", "5e6c1d2a-7b1f", "日本語日本語日本語"}))
	ids.add("session-1")
	ids.add("session-1")
	for name, want := range map[string]string{
		"session-1": "session-1", "session-12": "session-12", "b": "b", "5e6c1d2a-7b1f": "5e6c1d2a", "日本語日本語日本語": "日本語日本語日本",
	} {
		if got := ids.of(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestJoinLists(t *testing.T) {
	list := func(more int, starts ...int) (l ledger.RunList) {
		for _, s := range starts {
			l.Runs = append(l.Runs, ledger.RunSummary{Run: fmt.Sprint(s), First: time.Unix(int64(s), 0)})
		}
		l.More = more
		return l
	}
	for _, test := range []struct {
		a, b, want ledger.RunList
		limit      int
	}{
		{list(0), list(0, 3, 1), list(0, 3, 1), 2},
		{list(1, 5, 2), list(4, 4, 3), list(7, 5, 4), 2},
		{list(-1, 5), list(0, 4), list(-1, 5, 4), 2},
		{list(0, 5), list(0, 6, 4), list(0, 6, 5, 4), 0},
	} {
		got := joinLists(test.a, test.b, test.limit)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("got %v, want %v", got, test.want)
		}
	}
}
