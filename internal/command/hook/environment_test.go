package hook

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
)

// The environment of an agent can belong to what is audited. Gemini CLI reads .env of the project,
// and Claude Code has env in its settings. It does not turn a denial into a call that runs.
//
//guarantee:hook-environment
func TestMain_Environment(t *testing.T) {
	dir := t.TempDir()
	path := programFolder(t, "hooktrail-capture", "publisher")
	serve(t, path, dir, "--hooks", hookclienttest.HooksFile(t, hookclienttest.NoRemoval))
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	for _, variable := range []string{
		"HOOKTRAIL_TIMEOUT=1ns", "HOOKTRAIL_TIMEOUT=soon", "HOOKTRAIL_PUBLISHER=unix:///nowhere/p.sock", "HOOKTRAIL_PUBLISHER=http://127.0.0.1:1",
		"HOOKTRAIL_PUBLISHER=nonsense", "HOOKTRAIL_TENANT=nobody/knows", "HOOKTRAIL_TOKEN=x", "HOOKTRAIL_HOOKS=/nowhere", "HOOKTRAIL_DATA_DIR=/nowhere",
	} {
		name, value, _ := strings.Cut(variable, "=")
		t.Run(variable, func(t *testing.T) {
			t.Setenv(name, value)
			for _, flags := range [][]string{nil, {"--fail-closed"}} {
				args := append([]string{"claude-code", "--data-dir", dir}, flags...)
				if got := hooked(t, path, hookclienttest.Removals[0].Payload, args...); !strings.Contains(got.Stdout, `"deny"`) {
					t.Errorf("%v: got %+v", flags, got)
				}
			}
		})
	}
}
