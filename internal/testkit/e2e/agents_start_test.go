package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/agents"
)

// With --fail-closed the program of the hooks is missing before a session starts. No command runs,
// and the person or the model reads the reason.
//
//guarantee:program-missing
func TestAgents_MissingAtStart(t *testing.T) {
	modules := allAgents(t)
	for i := range agents.All {
		t.Run(agents.All[i].Name, func(t *testing.T) {
			t.Parallel()
			at := newAgentTest(t, &agents.All[i], modules, t.TempDir(), "")
			at.install(t, "--trust", "--fail-closed")
			if err := os.RemoveAll(at.Bin); err != nil {
				t.Fatal(err)
			}
			want := failClosedSays
			if agents.All[i].Name == "codex" { // it does not print the reason without a person
				want = "UserPromptSubmit Blocked"
			}
			s := at.Run(t)
			if at.Has("allowed") || at.Has("denied") {
				t.Error("a command ran")
			}
			if told := s.Output + strings.Join(at.model.Results(), "\n"); !strings.Contains(told, want) {
				t.Errorf("want %q, got status %d and\n%s", want, s.Status, told)
			}
		})
	}
}

// Agents that do not trust the hooks do not run them, as publisher install --status says.
//
//guarantee:install-trust
func TestAgents_NotTrusted(t *testing.T) {
	modules := allAgents(t)
	for i := range agents.All {
		if !agents.All[i].Trusts {
			continue
		}
		t.Run(agents.All[i].Name, func(t *testing.T) {
			t.Parallel()
			at := newAgentTest(t, &agents.All[i], modules, t.TempDir(), "")
			at.install(t)
			want := agents.LastWord
			if agents.All[i].Name == "gemini-cli" { // without a person it refuses to start
				want = "not running in a trusted directory"
			}
			s := at.Run(t)
			if !strings.Contains(s.Output, want) {
				t.Errorf("want %q, got status %d and\n%s", want, s.Status, s.Output)
			}
			if _, err := os.Stat(at.data); !os.IsNotExist(err) {
				t.Errorf("data of hooks: %v, want none; output:\n%s", err, s.Output)
			}
		})
	}
}
