package agents_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/toolname"
)

type payload struct {
	event string
	file  string
	at    time.Time
	data  []byte
}

var captures = []struct {
	name, tool string
	dirs       []string
}{
	{"claude-code", "claude-code", []string{"claude-code/captured-*"}},
	{"codex", "codex", []string{"codex/captured-*"}},
	{"gemini-cli", "gemini-cli", []string{"gemini-cli/captured-*"}},
	{"copilot-cli camelCase", "copilot-cli", []string{"copilot-cli/captured-*/camelCase"}},
	{"copilot-cli PascalCase", "copilot-cli", []string{"copilot-cli/captured-*/vscode-PascalCase"}},
	{"copilot-cli both", "copilot-cli", []string{"copilot-cli/captured-*/camelCase", "copilot-cli/captured-*/vscode-PascalCase"}},
	{"opencode", "opencode", []string{"opencode/captured-*"}},
}

// captured returns the payloads in folders, in the order of sending.
func captured(tb testing.TB, patterns ...string) []payload {
	tb.Helper()
	var all []payload
	for _, pattern := range patterns {
		for _, dir := range ingesttest.Recorded(tb, "hook-payloads/"+pattern) {
			all = append(all, inOrder(tb, dir)...)
		}
	}
	slices.SortStableFunc(all, func(a, b payload) int { return a.at.Compare(b.at) })
	return all
}

// inOrder reads _order.log. Each line has a time in seconds or milliseconds, and
// the name of a file without its extension.
func inOrder(tb testing.TB, dir string) []payload {
	tb.Helper()
	var list []payload
	for line := range strings.Lines(string(ingesttest.Data(tb, filepath.Join(dir, "_order.log")))) {
		words := strings.Fields(line)
		seconds, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			tb.Fatal(err)
		}
		if seconds > 1e11 {
			seconds /= 1000
		}
		for _, name := range slices.Compact(words[1:]) {
			data, err := os.ReadFile(filepath.Join(dir, name+".json"))
			if err != nil {
				continue
			}
			event := name[:strings.LastIndexByte(name, '.')]
			list = append(list, payload{event, filepath.Join(dir, name+".json"), time.UnixMicro(int64(seconds * 1e6)).UTC(), data})
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(list) == 0 {
		tb.Fatalf("%s: %d payloads, %v", dir, len(list), err)
	}
	for _, file := range files { // payloads of Codex's notify program, which no hook received
		if !slices.ContainsFunc(list, func(p payload) bool { return p.file == file }) {
			list = append(list, payload{"", file, list[len(list)-1].at, ingesttest.Data(tb, file)})
		}
	}
	return list
}

func named(tb testing.TB, name string) *agents.Tool {
	tb.Helper()
	tool, err := agents.Named(name)
	if err != nil {
		tb.Fatal(err)
	}
	return tool
}

func denyme(tb testing.TB) *hooks.Registry {
	tb.Helper()
	r := hooks.NewRegistry(hooks.Options{})
	hooks.ToolBefore.On(r, func(_ context.Context, _ hooks.Meta, c hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
		if strings.Contains(string(c.Args), "DENYME") {
			return &hooks.Decision[hooks.ToolPatch]{Verdict: hooks.Deny, Reason: "DENYME blocked by policy"}, nil
		}
		return nil, nil //nolint:nilnil // no opinion
	})
	return r
}

// handle processes a payload as the hook command does.
func handle(tb testing.TB, tool *agents.Tool, r *hooks.Registry, p payload, c agents.Context) []events.Event {
	tb.Helper()
	c.Tenant, c.Event = "acme", p.event
	read, err := tool.Parse(p.data, c)
	if err != nil {
		tb.Fatalf("%s: %v", p.file, err)
	}
	if !read.Decides {
		return read.Events
	}
	out, err := r.DispatchDocument(tb.Context(), read.Document)
	if err != nil {
		tb.Fatalf("%s: %v", p.file, err)
	}
	return read.Decided(out)
}

// replay returns the run tree of payloads that arrive in this order, one second
// apart.
func replay(tb testing.TB, tool *agents.Tool, list []payload, callIDs agents.CallIDs) *runtree.Fold {
	tb.Helper()
	fold := &runtree.Fold{Tenant: "acme"}
	r := denyme(tb)
	start := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for i, p := range list {
		for _, e := range handle(tb, tool, r, p, agents.Context{Now: start.Add(time.Duration(i) * time.Second), CallIDs: callIDs}) {
			fold.Add(e)
		}
	}
	return fold
}

// callsOf describes the runs below their parents, and the calls with their outcomes.
func callsOf(f *runtree.Fold) []string {
	var lines []string
	for _, run := range f.Runs() {
		if t := f.Trace(run); run != "" && t.ParentRun == "" {
			lines = append(lines, callLines(t, "")...)
		}
	}
	return lines
}

func callLines(t runtree.Trace, depth string) []string {
	var lines []string
	for _, s := range t.Steps {
		for _, row := range s.Rows {
			if row.Kind == events.ToolBefore || row.Kind == events.ToolResult {
				lines = append(lines, depth+callLine(row))
			}
		}
	}
	slices.Sort(lines)
	for _, child := range t.Children {
		lines = append(lines, depth+"sub-agent")
		lines = append(lines, callLines(child, depth+"  ")...)
	}
	return lines
}

func callLine(row *runtree.Row) string {
	what := toolname.Canonical(row.Name)
	for _, word := range []string{"DENYME", "cat", "echo"} {
		if strings.Contains(row.Detail, word) && what == toolname.Shell {
			what = word
			break
		}
	}
	how := cmp.Or(string(row.Status), "no result")
	if row.ExitCode != nil && *row.ExitCode != 0 {
		how += fmt.Sprintf(" %d", *row.ExitCode)
	}
	if row.Denied() {
		how += ", denied: " + row.Reason
	}
	return what + ": " + how
}
