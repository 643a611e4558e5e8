package publisher

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// What answers hook payloads learns the tool and whose payload it is.
func TestHandler_Hooks(t *testing.T) {
	hooks := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.PathValue("tool")+" of "+TenantOf(r.Context()))
	})
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/hooks/codex", http.NoBody)
	w := httptest.NewRecorder()
	Handler(&recorder{}, HandlerOptions{Tenant: "acme", Hooks: hooks}).ServeHTTP(w, r)
	if got, want := w.Body.String(), "codex of acme"; w.Code != http.StatusOK || got != want {
		t.Errorf("got %d %s, want %s", w.Code, got, want)
	}
}
