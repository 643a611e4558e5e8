package publisher

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const mailLine = `{"type":"user","sessionId":"s","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"write to ann@example.com"}}`

// What is imported is redacted unless somebody wants it otherwise, in what the
// tool itself wrote too, and comes out the same each time.
func TestImport_Redacts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(name, []byte(mailLine), 0o600); err != nil {
		t.Fatal(err)
	}
	take := func(r publish.Redactor) (data []string) {
		srv, b := open(t)
		opts := ImportOptions{Broker: b, DataDir: t.TempDir(), Format: "claude-code", Paths: []string{name}, Redactor: r}
		if _, err := Import(t.Context(), opts); err != nil {
			t.Fatal(err)
		}
		for _, e := range stored(t, srv) {
			if e.Kind() != events.RunSealed {
				data = append(data, string(e.Data))
			}
		}
		return data
	}
	redacted, plain := take(nil), take(publish.NoRedaction)
	all := strings.Join(redacted, "\n")
	if strings.Contains(all, "ann@example.com") || strings.Count(all, "[EMAIL_REDACTED]") < 2 || !strings.Contains(all, `"redacted":[{"field":"/`) {
		t.Errorf("got %s", all)
	}
	if all := strings.Join(plain, "\n"); !strings.Contains(all, "ann@example.com") || strings.Contains(all, "REDACTED") {
		t.Errorf("without redaction: got %s", all)
	}
	if diff := cmp.Diff(redacted, take(nil)); diff != "" {
		t.Errorf("another import (-first +second):\n%s", diff)
	}
}

func TestPipe_Redacts(t *testing.T) {
	const line = `{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"to":"ann@example.com"}}` + "\n"
	for want, r := range map[string]publish.Redactor{
		`{"to":"[EMAIL_REDACTED]","redacted":[{"field":"/to","rule":"email","start":0,"end":15}]}`: nil,
		`{"to":"ann@example.com"}`: publish.NoRedaction,
	} {
		srv, b := open(t)
		if _, err := Pipe(t.Context(), strings.NewReader(line), PipeOptions{Broker: b, DataDir: t.TempDir(), Redactor: r}); err != nil {
			t.Fatal(err)
		}
		if got := stored(t, srv); len(got) != 1 || string(got[0].Data) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func TestOpen_Redacts(t *testing.T) {
	_, b := open(t)
	for want, r := range map[string]publish.Redactor{`"[EMAIL_REDACTED]"`: nil, `"ann@example.com"`: publish.NoRedaction} {
		p, err := Open(t.Context(), Options{Broker: b, DataDir: t.TempDir(), Tenant: "acme", Redactor: r})
		if err != nil {
			t.Fatal(err)
		}
		e, err := p.Append(t.Context(), events.Event{ID: "1", Source: "s", Type: "t", Time: time.Now(), Data: []byte(`"ann@example.com"`)})
		if err != nil || string(e.Data) != want {
			t.Errorf("got %s, %v, want %s", e.Data, err, want)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// What hooks record leaves this machine redacted, and is kept as it was sent.
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
	if got := hookSays(t, dir, payload, "claude-code", "--publisher", srv.URL); got.Status != 0 {
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
