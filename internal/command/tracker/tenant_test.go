package tracker

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestCommands_RefuseWhatIsNoTenant(t *testing.T) {
	path := rulestest.WriteEvents(t, rulestest.Story(t)...)
	commands := [][]string{
		{"serve"},
		{"serve", "--drain"},
		{"list"},
		{"show", "x"},
		{"why", "x"},
		{"why", "x", "--events", path},
		{"close", "x", "--reason", "y"},
		{"whatif", "--events", path},
		{"whatif", "--config", path},
		{"rebuild"},
	}
	for _, tenant := range []string{strings.Repeat("a", subjects.MaxID+1), "a\xff"} {
		for _, args := range commands {
			dir := t.TempDir()
			status, stdout, stderr := call(t, dir, append(args, "--tenant", tenant)...)
			if status != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, "--tenant: "+subjects.ErrID.Error()) {
				t.Errorf("%v of tenant %.9q: exit status %d, %q, %q", args, tenant, status, stdout, stderr)
			}
		}
		t.Setenv("HOOKTRAIL_TENANT", tenant)
		if status, _, stderr := call(t, t.TempDir(), "list"); status != cli.ExitUsage {
			t.Errorf("tenant %.9q of the environment: exit status %d, %q", tenant, status, stderr)
		}
		t.Setenv("HOOKTRAIL_TENANT", "")
	}
}

func TestCommands_TenantCalledAsAPath(t *testing.T) {
	for _, tenant := range []string{"a/b", "..", "*", "a b"} {
		e := rulestest.At(t, tenant, "r1", 0, events.RunStarted, events.RunStartedData{RunType: "RESOLVE"})
		p := newPipeline(t)
		p.Publish("engine", e)
		if status, _, stderr := call(t, p.DataDir, "serve", "--drain", "--tenant", tenant, "--nats-url", p.Server.URL()); status != cli.ExitOK {
			t.Fatalf("serve of tenant %q: exit status %d, %s", tenant, status, stderr)
		}
		if list := callJSON[[]tracker.Issue](t, p.DataDir, "list", "--tenant", tenant); len(list) != 1 || list[0].Tenant != tenant {
			t.Errorf("got %+v, want the one of tenant %q", list, tenant)
		}
	}
}

// If the default tenant has no issues, list names the tenants that have some.
func TestList_SaysWhoseIssuesThereAre(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain()
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "no issues in tenant default; --tenant names another: acme, beta\n"},
		{[]string{"--tenant", "default"}, "no issues in tenant default\n"},
	} {
		if status, stdout, stderr := call(t, p.DataDir, append([]string{"list"}, test.args...)...); status != cli.ExitOK || stdout != "" || stderr != test.want {
			t.Errorf("list %v: exit status %d, %q, %q", test.args, status, stdout, stderr)
		}
	}
}
