package publisher

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const mailLine = `{"type":"user","sessionId":"s","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"write to ann@example.com"}}`

// Imports redact events by default, and a second import gives the same result.
//
//guarantee:secrets
func TestImport_Redacts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	writeText(t, name, mailLine)
	take := func(r publish.Redactor) (data []string) {
		srv, b := open(t)
		opts := ImportOptions{Broker: b, DataDir: t.TempDir(), Format: "claude-code", Paths: []string{name}, Redactor: r}
		if _, err := Import(t.Context(), opts); err != nil {
			t.Fatal(err)
		}
		for _, e := range srv.Events(t) {
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
		if got := srv.Events(t); len(got) != 1 || string(got[0].Data) != want {
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
