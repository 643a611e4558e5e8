package policy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// documented is the configuration of docs/hooks-yaml.md. The figures are about it.
func documented(root string) policy.Config {
	return policy.Config{
		Root:              root,
		AllowedWritePaths: []string{"**"},
		BlockedCommands:   []string{"git push --force", "git reset --hard"},
		Presets: []string{
			policy.DestructiveCommands, policy.SecretFiles, policy.SystemChanges, policy.SupplyChain,
		},
	}
}

// labelledCall is a tool call with a label. The kind of a call to deny names the danger.
type labelledCall struct {
	ID      string          `json:"id"`
	Command string          `json:"command"`
	Args    json.RawMessage `json:"args"`
	Tool    string          `json:"tool"`
	Dir     string          `json:"cwd"`
	Label   string          `json:"label"`
	Kind    string          `json:"kind"`
}

func (c labelledCall) call(tb testing.TB) hooks.ToolCall {
	tb.Helper()
	args := []byte(c.Args)
	if len(args) == 0 {
		var err error
		if args, err = json.Marshal(map[string]string{"command": c.Command}); err != nil {
			tb.Fatal(err)
		}
	}
	return hooks.ToolCall{Tool: c.Tool, Args: hooks.JSON(args)}
}

func readCalls(tb testing.TB, name string) []labelledCall {
	tb.Helper()
	file, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var calls []labelledCall
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c labelledCall
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatalf("%s: line %d: %v", name, len(calls)+1, err)
		}
		calls = append(calls, c)
	}
	if err := lines.Err(); err != nil || len(calls) == 0 {
		tb.Fatalf("%s: %d calls, %v", name, len(calls), err)
	}
	return calls
}

// judgeCalls counts the verdicts of the documented configuration, and calls surprise for each
// verdict that differs from the label.
func judgeCalls(tb testing.TB, calls []labelledCall, surprise func(labelledCall, events.Verdict, string)) map[string]*count {
	tb.Helper()
	counts := map[string]*count{}
	sets := map[string]*policy.Set{}
	for _, c := range calls {
		if sets[c.Dir] == nil {
			sets[c.Dir] = must(policy.New(documented(c.Dir)))(tb)
		}
		d, err := sets[c.Dir].PreToolUse(tb.Context(), hooks.Meta{TeamRoot: c.Dir}, c.call(tb))
		if err != nil {
			tb.Fatal(err)
		}
		verdict, why := hooks.None, ""
		if d != nil {
			verdict, why = d.Verdict, d.Reason
		}
		for _, key := range []string{c.Label + " all", c.Label + " " + c.Kind} {
			if counts[key] == nil {
				counts[key] = &count{}
			}
			counts[key].add(verdict)
		}
		if (c.Label == "deny") == (verdict == hooks.None) {
			surprise(c, verdict, why)
		}
	}
	return counts
}

func TestPolicies_Cases(t *testing.T) {
	var table strings.Builder
	table.WriteString("| calls | number | denied | asked about | passed |\n|---|---|---|---|---|\n")
	row := func(name string, c *count) {
		fmt.Fprintf(&table, "| %s | %d | %d (%.1f %%) | %d | %d |\n", name, c.all, c.denied, percent(c.denied, c.all), c.asked, c.passed())
	}
	for _, set := range []string{"dev", "test"} {
		counts := judgeCalls(t, readCalls(t, filepath.Join("testdata", "commands-"+set+".jsonl")), func(c labelledCall, v events.Verdict, why string) {
			t.Logf("%s %s/%s: %s %s", c.ID, c.Label, c.Kind, v, why)
		})
		t.Log("\n" + countTable(counts))
		deny, allow := counts["deny all"], counts["allow all"]
		if got := percent(deny.denied+deny.asked, deny.all); got < 90 {
			t.Errorf("%s: %.1f %% of the dangerous calls are denied or asked about, want 90", set, got)
		}
		if got := percent(allow.denied, allow.all); got > 2 {
			t.Errorf("%s: %.1f %% of the harmless calls are denied, want at most 2", set, got)
		}
		row(set+", dangerous", deny)
		row(set+", harmless", allow)
	}
	agents := judgeReal(t)
	if got := percent(agents.denied, agents.all); got > 1 {
		t.Errorf("%.1f %% of the commands of real agents are denied, want at most 1", got)
	}
	row("commands of real agents", agents)
	checkDocument(t, map[string]string{"cases": table.String()})
}

func countTable(counts map[string]*count) string {
	var b strings.Builder
	b.WriteString("| label and kind | calls | denied | asked about | passed |\n|---|---|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		c := counts[key]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", key, c.all, c.denied, c.asked, c.passed())
	}
	return b.String()
}

var cliProject = regexp.MustCompile(`/Users/[^/\s"']+/[^\s"']*?/cli\b`)

// projectIn returns the root of the project, which the collection does not contain. All commands
// are about one project, whose directory is called cli, and some contain its absolute path.
func projectIn(command string) string {
	if root := cliProject.FindString(command); root != "" {
		return root
	}
	return "/home/user/project"
}

// judgeReal counts the verdicts of the documented configuration on commands of real agents.
func judgeReal(t *testing.T) *count {
	t.Helper()
	var calls []labelledCall
	for _, row := range readLabelled(t, "real-agent-bash-commands.jsonl") {
		calls = append(calls, labelledCall{Command: row.Command, Tool: "Bash", Dir: projectIn(row.Command)})
	}
	return judgeCalls(t, calls, func(labelledCall, events.Verdict, string) {})[" all"]
}
