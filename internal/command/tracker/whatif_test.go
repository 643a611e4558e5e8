package tracker

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

//guarantee:replay-lines
func TestWhatif_BadLinesHideNothing(t *testing.T) {
	list := rulestest.Story(t)
	good := strings.Split(strings.TrimSpace(rulestest.ReadFile(t, rulestest.WriteEvents(t, list...))), "\n")
	lines := []string{
		good[0], `{"specversion":"1.0","id":3}`, "", "oops", good[2], good[3][:40],
		strings.Replace(good[4], `"specversion"`, `"vendorthing":"a","specversion"`, 1),
		`{"specversion":"1.0","id":"x","source":"s","type":"hooktrail.step.finished","subject":"r1","time":"2026-03-01T09:00:00Z","data":{"step_status":7}}`,
		good[7],
	}
	path := rulestest.WriteFile(t, "history.jsonl", strings.Join(lines, "\n"))
	status, stdout, stderr := callWhatif(t, "--events", path, "--json")
	if status != cli.ExitError {
		t.Errorf("exit status %d, want %d", status, cli.ExitError)
	}
	for _, want := range []string{"4 lines are not events", "history.jsonl:2:27: ", "history.jsonl:4:1: ", "history.jsonl:6:", "history.jsonl:8:"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is missing in %s", want, stderr)
		}
	}
	var got whatifOutcome
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	want := whatifJSON[whatifOutcome](t, "--events", rulestest.WriteEvents(t, list[0], list[2], list[4], list[7]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the other lines have another result (-alone +here):\n%s", diff)
	}
}

func TestWhatif_PrintsDifferences(t *testing.T) {
	path := rulestest.WriteEvents(t, rulestest.Story(t)...)
	config := rulestest.WriteFile(t, "new.yaml", "followups: 1\ntitle_prefix: \"AGENT:\"\n")
	got := whatifJSON[whatifOutcome](t, "--events", path, "--config", config)
	c := got.Against
	if c == nil || c.Lost.Count == 0 || c.Gained.Count != 0 || c.Changed.Count == 0 || c.Decisions.Count == 0 {
		t.Fatalf("comparison is %+v", c)
	}
	if c.Issues.New != len(got.Issues) || c.Issues.Base != c.Issues.New+c.Lost.Count {
		t.Errorf("issues are %+v and %d, %d lost", c.Issues, len(got.Issues), c.Lost.Count)
	}
	lost := c.Lost.Examples[0]
	if lost.Kind != rules.Followup || lost.Decision == nil || lost.Decision.Base.Action != rules.Create || lost.Decision.New.Event != lost.Decision.Base.Event {
		t.Errorf("example is %+v with decision %+v", lost, lost.Decision)
	}
	_, text, _ := callWhatif(t, "--events", path, "--config", config)
	for _, want := range []string{" lost, ", "\nlost: ", "\nchanged: ", "\ndecisions that differ: ", "AGENT: RESOLVE run r1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	reverse := whatifJSON[whatifOutcome](t, "--events", path, "--config", rulestest.WriteFile(t, "old.yaml", ""), "--against", config).Against
	if reverse.Gained.Count != c.Lost.Count || reverse.Lost.Count != 0 {
		t.Errorf("reversed comparison is %+v", reverse)
	}
	same := whatifJSON[whatifOutcome](t, "--events", path, "--config", config, "--against", config).Against
	if same.Gained.Count+same.Lost.Count+same.Changed.Count+same.Decisions.Count != 0 {
		t.Errorf("the same configuration differs from itself: %+v", same)
	}
}

func TestWhatif_Defaults(t *testing.T) {
	status, text, stderr := callWhatif(t, "--defaults")
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	c, err := store.LoadConfig(rulestest.WriteFile(t, "defaults.yaml", text))
	if err != nil || c.Hash() != rules.DefaultConfig().Hash() {
		t.Errorf("they read as %+v, %v", c, err)
	}
}

func TestWhatif_Usage(t *testing.T) {
	path := rulestest.WriteEvents(t, rulestest.Story(t)...)
	for _, test := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"NoFlags", nil, cli.ExitUsage, "--events"},
		{"AgainstAlone", []string{"--events", path, "--against", path}, cli.ExitUsage, "--against"},
		{"NoFile", []string{"--events", "/nowhere/it.jsonl"}, cli.ExitError, "/nowhere/it.jsonl"},
		{"Folder", []string{"--events", t.TempDir()}, cli.ExitError, "folder"},
		{"NoConfig", []string{"--events", path, "--config", "/nowhere/c.yaml"}, cli.ExitError, "/nowhere/c.yaml"},
		{"BadConfig", []string{"--events", path, "--config", rulestest.WriteFile(t, "bad.yaml", "complexity: 3\nstrom: 5\n")}, cli.ExitError, "bad.yaml:2:1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := callWhatif(t, test.args...)
			if status != test.want || stdout != "" || !strings.Contains(stderr, test.says) {
				t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
			}
		})
	}
}

func TestWhatif_TenantsOfAnInput(t *testing.T) {
	list := rulestest.Story(t)
	for i := range list[:3] {
		list[i].Tenant = ""
	}
	path := rulestest.WriteEvents(t, list...)
	tenants := func(args ...string) (names []string) {
		for _, i := range whatifJSON[whatifOutcome](t, append([]string{"--events", path}, args...)...).Issues {
			names = append(names, i.Tenant)
		}
		return names
	}
	if got := tenants(); len(got) < 3 || !slices.Contains(got, "default") || slices.Contains(got, "") {
		t.Errorf("issues are of %v", got)
	}
	for _, name := range tenants("--tenant", "beta") {
		if name != "beta" {
			t.Errorf("issue of %s, want beta alone", name)
		}
	}
}
