package policy_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

var update = flag.Bool("update", false, "rewrite docs/hooks-policies.md")

// labelled is a command of a collection in data/shell-commands.
type labelled struct {
	Command string   `json:"command"`
	Expect  string   `json:"expect"`
	Env     []string `json:"env"`
}

func readLabelled(tb testing.TB, name string) []labelled {
	tb.Helper()
	file, err := os.Open(realdata.Path(tb, "shell-commands", name))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var rows []labelled
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row labelled
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			tb.Fatalf("%s: line %d: %v", name, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil || len(rows) == 0 {
		tb.Fatalf("%s: %d rows, %v", name, len(rows), err)
	}
	return rows
}

// count is the number of commands per verdict for one label.
type count struct{ all, denied, asked int }

func (c *count) add(v events.Verdict) {
	c.all++
	switch v {
	case hooks.Deny:
		c.denied++
	case hooks.Ask:
		c.asked++
	}
}

func (c count) passed() int { return c.all - c.denied - c.asked }

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }

type judged struct {
	deny, allow, harmless, real count
	unparsed, dynamic           int            // real commands
	surprises                   map[string]int // number of unexpected verdicts by class
}

func judgeAll(t *testing.T) judged {
	t.Helper()
	j := judged{surprises: map[string]int{}}
	for _, row := range readLabelled(t, "safety-net-cases.jsonl") {
		opts := policy.Options{}
		if len(row.Env) > 0 { // with the option that denies unknown commands
			opts.Undetermined = hooks.Deny
		}
		v, why := verdictOn(t, newDestructive(t, opts), row.Command)
		if row.Expect == "deny" {
			j.deny.add(v)
		} else {
			j.allow.add(v)
		}
		if (row.Expect == "deny") != (v == hooks.Deny) || v == hooks.Ask {
			j.surprise(t, row, v, why)
		}
	}
	for _, row := range readLabelled(t, "dippy-cases.jsonl") {
		if row.Expect == "allow" {
			v, why := verdictOn(t, newDestructive(t, policy.Options{}), row.Command)
			if j.harmless.add(v); v != hooks.None {
				j.surprise(t, row, v, why)
			}
		}
	}
	for _, row := range readLabelled(t, "real-agent-bash-commands.jsonl") {
		v, _ := verdictOn(t, newDestructive(t, policy.Options{}), row.Command)
		j.real.add(v)
		a := shell.Analyze(row.Command)
		_, err := syntax.NewParser().Parse(strings.NewReader(row.Command), "")
		if err != nil {
			j.unparsed++
		}
		if a.Dynamic() {
			j.dynamic++
		}
		if err != nil && !a.Dynamic() || len(a.Commands) == 0 && err == nil && startsSomething(row.Command) {
			t.Errorf("command %s is neither parsed nor dynamic", digest(row.Command))
		}
	}
	return j
}

func startsSomething(command string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	return first != "" && !strings.ContainsAny(first, "=#[(")
}

// surprise counts a command with an unexpected verdict in its class.
func (j *judged) surprise(t *testing.T, row labelled, v events.Verdict, why string) {
	t.Helper()
	d := digest(row.Command)
	for _, u := range notCovered {
		if slices.Contains(u.cases, d) {
			j.surprises[u.class]++
			return
		}
	}
	t.Errorf("a command labelled %q gets %s (%s), and is in no class that is not covered: digest %s", row.Expect, v, why, d)
}

func digest(command string) string {
	sum := sha256.Sum256([]byte(command))
	return hex.EncodeToString(sum[:6])
}

func TestDestructive_Labelled(t *testing.T) {
	j := judgeAll(t)
	figures := j.figures()
	t.Log("\n" + figures)
	if got := percent(j.deny.denied, j.deny.all); got < 95 {
		t.Errorf("%.1f %% of the commands to deny are denied, want 95", got)
	}
	if got := percent(j.allow.passed(), j.allow.all); got < 97 {
		t.Errorf("%.1f %% of the commands to allow pass, want 97", got)
	}
	if got := percent(j.harmless.denied+j.harmless.asked, j.harmless.all); got > 3 {
		t.Errorf("%.1f %% of harmless commands are denied, want at most 3", got)
	}
	checkDocument(t, map[string]string{"figures": figures, "covered": coveredTable(t), "uncovered": uncoveredTable(t, j)})
}

func (j judged) figures() string {
	var b strings.Builder
	b.WriteString("| collection | commands | denied | asked about | passed |\n|---|---|---|---|---|\n")
	row := func(name string, c count) {
		fmt.Fprintf(&b, "| %s | %d | %d (%.1f %%) | %d | %d (%.1f %%) |\n",
			name, c.all, c.denied, percent(c.denied, c.all), c.asked, c.passed(), percent(c.passed(), c.all))
	}
	row("safety-net, to be denied", j.deny)
	row("safety-net, to be allowed", j.allow)
	row("Dippy, harmless", j.harmless)
	row("commands of real agents, without label", j.real)
	fmt.Fprintf(&b, "\nOf the commands of real agents %d parse, and %d are called dynamic.\n", j.real.all-j.unparsed, j.dynamic)
	return b.String()
}

func coveredTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| | for example | reason |\n|---|---|---|\n")
	for _, e := range destroyed {
		_, why := verdictOn(t, newDestructive(t, policy.Options{}), e.command)
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", e.group, strings.ReplaceAll(e.command, "|", `\|`), strings.TrimPrefix(why, "Destructive command blocked: "))
	}
	return b.String()
}

func uncoveredTable(t *testing.T, j judged) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| class | for example | verdict | why | labelled otherwise |\n|---|---|---|---|---|\n")
	for _, u := range notCovered {
		if v, why := verdictOn(t, newDestructive(t, policy.Options{}), u.example); v != u.verdict {
			t.Errorf("%s: got %s (%s), want %s", u.example, v, why, u.verdict)
		}
		if got := j.surprises[u.class]; got != len(u.cases) {
			t.Errorf("%s: %d labelled commands, %d are listed", u.class, got, len(u.cases))
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %d |\n", u.class, strings.ReplaceAll(u.example, "|", `\|`), u.verdict, u.why, len(u.cases))
	}
	return b.String()
}

// checkDocument compares the marked parts of docs/hooks-policies.md with the test results. With
// -update it rewrites them.
func checkDocument(t *testing.T, parts map[string]string) {
	t.Helper()
	name := filepath.Join("..", "..", "..", "docs", "hooks-policies.md")
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := string(have)
	for part, text := range parts {
		begin, end := "<!-- "+part+": written by a test -->\n", "<!-- end -->"
		head, rest, found := strings.Cut(want, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for the part %q", name, part)
		}
		want = head + begin + text + end + tail
	}
	if *update && !bytes.Equal(have, []byte(want)) {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("docs/hooks-policies.md is out of date, run with -update (-want +got):\n%s", diff)
	}
}
