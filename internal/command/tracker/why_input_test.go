package tracker

import (
	"os"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

func TestWhy_OfAnInput(t *testing.T) {
	list := rulestest.Story(t)
	path := rulestest.WriteEvents(t, list...)
	status, stdout, stderr := call(t, t.TempDir(), "why", list[0].ID, "--events", path, "--tenant", "acme")
	if status != cli.ExitOK || !strings.Contains(stdout, "made an issue") {
		t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
	}
	if status, _, stderr := call(t, t.TempDir(), "why", "nothing", "--events", path, "--tenant", "acme"); status != cli.ExitError ||
		!strings.Contains(stderr, "nothing") {
		t.Errorf("exit status %d, %q", status, stderr)
	}
}

// Without --tenant, why finds an event of any tenant in the file, or names the tenants.
func TestWhy_TenantsOfAnInput(t *testing.T) {
	list := rulestest.LongStory(t)
	path := rulestest.WriteEvents(t, list...)
	acme, tool, beta := list[0].ID, list[1].ID, list[3].ID
	twice := list[0]
	twice.Tenant = "gamma"
	for _, test := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"Anyone's", []string{beta, "--events", path}, cli.ExitOK, beta},
		{"Named", []string{beta, "--events", path, "--tenant", "beta"}, cli.ExitOK, beta},
		{"AnotherNamed", []string{beta, "--events", path, "--tenant", "acme"}, cli.ExitError, "in tenant acme, but in beta"},
		{"NotConsidered", []string{tool, "--events", path}, cli.ExitOK, "is a tool.before, and such events are not considered"},
		{"Nobody's", []string{"nothing", "--events", path}, cli.ExitError, "acme, beta"},
		{"InTwo", []string{acme, "--events", rulestest.WriteEvents(t, list[0], twice)}, cli.ExitUsage, "acme, gamma"},
		{"Empty", []string{acme, "--events", rulestest.WriteEvents(t)}, cli.ExitError, "no event of the input"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := call(t, t.TempDir(), append([]string{"why"}, test.args...)...)
			if status != test.want || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
			}
		})
	}
}

// why answers, and then reports an invalid line.
func TestWhy_AnswersBesideABadLine(t *testing.T) {
	list := rulestest.Story(t)
	good, err := os.ReadFile(rulestest.WriteEvents(t, list...))
	if err != nil {
		t.Fatal(err)
	}
	path := rulestest.WriteFile(t, "bad.jsonl", "{\n"+string(good))
	status, stdout, stderr := call(t, t.TempDir(), "why", list[0].ID, "--events", path)
	if status != cli.ExitError || !strings.Contains(stdout, "made an issue") || !strings.Contains(stderr, "bad.jsonl:1:") {
		t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
	}
}
