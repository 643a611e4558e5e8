package publisher

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Sent and stored events are redacted in the same way.
func TestHook_Redacts(t *testing.T) {
	const payload = `{"session_id":"s1","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"who"},"tool_response":{"stdout":"ann@example.com"},"tool_use_id":"t0"}`
	var sent []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/events" {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			sent = append(sent, string(body))
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	dir := t.TempDir()
	if got := execHook(t, dir, payload, "claude-code", "--publisher", srv.URL); got.Status != 0 {
		t.Fatalf("got %+v", got)
	}
	if len(sent) != 1 || strings.Contains(sent[0], "ann@example.com") || !strings.Contains(sent[0], "[EMAIL_REDACTED]") {
		t.Errorf("sent %q", sent)
	}
	for _, e := range recorded(t, dir) {
		if e.Kind() == events.ToolResult && !strings.Contains(sent[0], string(e.Data)) {
			t.Errorf("kept %s, sent %s", e.Data, sent[0])
		}
	}
}
