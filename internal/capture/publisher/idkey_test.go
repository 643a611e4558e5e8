package publisher

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A hook and an import of the log of its payloads send only one event from one data
// directory, with a key and in the directory of an earlier version. Another data
// directory derives a different id.
//
//guarantee:id-secret
func TestIDKey_HookAndImport(t *testing.T) {
	const payload = `{"session_id":"s1","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"x","tool_use_id":"t1"}`
	known := map[string]bool{}
	for name, older := range map[string]bool{"WithKey": false, "OlderDirectory": true, "AnotherWithKey": false} {
		t.Run(name, func(t *testing.T) {
			srv, b := open(t)
			dir := filepath.Join(t.TempDir(), "data")
			if older {
				if err := os.MkdirAll(filepath.Join(dir, "outbox", "import"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			answerHook(t, hookclienttest.Removal{Tool: "claude-code", Payload: payload}, hookclient.Options{DataDir: dir})
			log := filepath.Join(t.TempDir(), "log.json")
			if err := os.WriteFile(log, []byte("["+payload+"]"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, again := range []bool{false, true} {
				sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: dir, Format: "hook-log", Paths: []string{log}})
				if err != nil || sum.Events == 0 || again && sum.New != 0 {
					t.Errorf("again %v: %+v, %v", again, sum.Counts, err)
				}
			}
			ids, fromHook := map[string]int{}, 0
			for _, e := range recordedIn(t, srv, dir) {
				if e.Source != "claude-code" {
					continue
				}
				ids[e.ID]++
				if e.Kind() == events.ToolResult { // only the import adds the call and the end of the log
					fromHook++
				}
				if ids[e.ID] == 1 && known[e.ID] {
					t.Errorf("%s is also in another directory", e.ID)
				}
				known[e.ID] = true
			}
			if len(ids) != 3 || fromHook != 2 {
				t.Errorf("ids and how often each arrived: %v, results: %d", ids, fromHook)
			}
		})
	}
}
