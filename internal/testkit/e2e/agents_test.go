package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/agents"
)

const (
	noTouch = `
hooks:
  PreToolUse:
    - {type: matcher, name: no-touch, match: {tool: Bash, args: {command: "touch denied*"}}, action: block, message: Nothing is touched here}
`
	noTouchSays    = "Nothing is touched here"
	failClosedSays = "Hooktrail, which fails closed"
)

// allAgents returns the folder of the installed agents for the long tests.
func allAgents(t *testing.T) string {
	t.Helper()
	if os.Getenv(agents.Env) == "session" {
		t.Skip("make agents runs this test")
	}
	return agents.Install(t)
}

// programs builds the commands that an installed hook runs.
var programs = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "programs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	packages, err := filepath.Glob("../../../cmd/hooktrail-*") // smaller commands for hooks
	if err != nil {
		return "", err
	}
	args := append([]string{"build", "-o", dir, "../../../cmd/publisher"}, packages...)
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		err = errors.Join(err, errors.New(string(out)))
	}
	return dir, err
})

// agentTest is a session of an agent with hooks, in front of a publisher that denies one of two
// calls.
type agentTest struct {
	*agents.Box
	model     *agents.Model
	data      string
	hooks     string
	publisher *process
	breaks    func() // runs before the first call; may be nil
}

// newAgentTest makes the folders of a test below dir. Without turns, the model asks for two commands,
// which end in tail.
func newAgentTest(t testing.TB, a *agents.Agent, modules, dir, tail string, turns ...agents.Turn) *agentTest {
	t.Helper()
	at := &agentTest{data: filepath.Join(dir, "data"), hooks: filepath.Join(dir, "hooks.yaml")}
	first := func() {
		if at.breaks != nil {
			at.breaks()
		}
	}
	if turns == nil {
		turns = []agents.Turn{{Command: "touch allowed" + tail, Before: first}, {Command: "touch denied" + tail}}
	}
	at.model = agents.NewModel(t, turns...)
	at.Box = agents.NewBox(t, a, modules, dir, at.model)
	built, err := programs()
	if err != nil {
		t.Fatalf("build the commands: %v", err)
	}
	all, err := os.ReadDir(built)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if err := os.Link(filepath.Join(built, p.Name()), filepath.Join(at.Bin, p.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at.hooks, []byte(noTouch), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// command runs publisher as a user of the agent does.
func (at *agentTest) command(t testing.TB, want int, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(at.Bin, "publisher"), args...)
	cmd.Env, cmd.Dir = at.Env, at.Project
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("publisher %v: got exit status %d, want %d:\n%s", args, got, want, out)
	}
	return string(out)
}

func (at *agentTest) install(t testing.TB, more ...string) {
	t.Helper()
	at.command(t, 0, append([]string{"install", at.Agent.Name, "--project", at.Project, "--data-dir", at.data}, more...)...)
}

func (at *agentTest) serve(t testing.TB) {
	t.Helper()
	at.publisher = serving(t, at.data, "--hooks", at.hooks)
}

// run runs the session, which must end well.
func (at *agentTest) run(t *testing.T) {
	t.Helper()
	s := at.Run(t)
	t.Logf("the session took %v, and %v of the processors", s.Took, s.CPU)
	if s.Status != 0 || !strings.Contains(s.Output, agents.LastWord) {
		t.Errorf("the agent ended with status %d, want 0 and %q; output:\n%s", s.Status, agents.LastWord, s.Output)
	}
	if len(at.model.Results()) != 2 {
		t.Fatalf("results of calls: %q, want two; output:\n%s", at.model.Results(), s.Output)
	}
}

// outcome checks which of the two commands ran, and that the model knows the reason for the others.
func (at *agentTest) outcome(t *testing.T, reasons ...string) {
	t.Helper()
	for i, name := range []string{"allowed", "denied"} {
		result := at.model.Results()[i]
		if ran := reasons[i] == ""; at.Has(name) != ran {
			t.Errorf("touch %s: ran is %v, want %v; the model got %s", name, !ran, ran, result)
		}
		if !strings.Contains(result, reasons[i]) {
			t.Errorf("touch %s: the model got %s, want the reason %q", name, result, reasons[i])
		}
	}
}
