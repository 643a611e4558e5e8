package publisher

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

type full struct{}

func (full) Append(context.Context, events.Event) (events.Event, error) {
	return events.Event{}, publish.ErrFull
}

// A denial is sent even if the outbox is full.
func TestHookService_DeniesWhenFull(t *testing.T) {
	_, b := open(t)
	service, err := NewHookService(parseHooks(t, hookclienttest.NoRemoval), full{}, Options{DataDir: t.TempDir(), Broker: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.close(context.Background()) })
	h := Handler(full{}, HandlerOptions{Hooks: service})
	harmless := strings.Replace(hookclienttest.Removals[0].Payload, "rm -rf build/x", "ls", 1)
	for payload, want := range map[string]int{hookclienttest.Removals[0].Payload: http.StatusOK, harmless: http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/hooks/claude-code", strings.NewReader(payload)))
		if w.Code != want || (want == http.StatusOK) != (w.Body.String() == hookclienttest.Removals[0].Denied+"\n") {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, want)
		}
	}
}

func TestHookService_Refuses(t *testing.T) {
	_, b := open(t)
	r := runServer(t, Options{Broker: b, DataDir: t.TempDir(), Tenant: "acme"})
	tests := []struct {
		name, path, contentType, body string
		want                          int
	}{
		{"UnknownTool", "/v1/hooks/emacs", "application/json", "{}", http.StatusNotFound},
		{"TooLong", "/v1/hooks/codex", "application/json", strings.Repeat("x", hookclient.MaxPayload+1), http.StatusRequestEntityTooLarge},
		{"NoDocument", "/v1/hooks/codex", hookclient.DocumentType, "{", http.StatusBadRequest},
		{"AnotherTenant", "/v1/hooks/codex", hookclient.DocumentType, `{"point":"tool.before","meta":{"Tenant":"other"}}`, http.StatusForbidden},
		{"Junk", "/v1/hooks/codex", "application/json", "nonsense", http.StatusOK},
	}
	for _, tt := range tests {
		resp, err := http.Post(r.url+tt.path, tt.contentType, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if status, body := reply(t, resp); status != tt.want {
			t.Errorf("%s: got %d %s, want %d", tt.name, status, body, tt.want)
		}
	}
	r.end(t)
}
