package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The key changes every derived id. The log of the payloads gives the ids of the live
// hook only with the same key.
//
//guarantee:id-secret
func TestIDKey_SeparatesDataDirectories(t *testing.T) {
	const payload = `{"session_id":"s1","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1"}`
	live := func(key []byte) (ids []string) {
		p, err := claudeCode.Parse([]byte(payload), Context{Tenant: "acme", Now: time.Unix(1, 0).UTC(), IDKey: key})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Events {
			ids = append(ids, e.ID)
		}
		return ids
	}
	imported := func(key []byte) (ids []string) {
		opts := ingest.Options{File: "-", Tenant: "acme", HookKey: key}
		for e, err := range Log(t.Context(), strings.NewReader(payload), opts) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind() != events.RunFinished { // of the end of the log
				ids = append(ids, e.ID)
			}
		}
		return ids
	}
	a, b := []byte("one data directory"), []byte("another data directory")
	if !slices.Equal(live(a), imported(a)) || !slices.Equal(live(nil), imported(nil)) {
		t.Error("the log gave other ids than the hook")
	}
	for _, id := range live(a) {
		if slices.Contains(live(b), id) || slices.Contains(live(nil), id) {
			t.Errorf("id %s does not depend on the key", id)
		}
	}
}
