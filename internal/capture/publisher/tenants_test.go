package publisher

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/stream/admission"
)

func of(id, tenant string) string {
	return `{"specversion":"1.0","id":"` + id + `","source":"/s","type":"hooktrail.custom","time":"2026-01-01T00:00:00Z","tenant":"` +
		tenant + `","data":{"name":"n"}}`
}

// A caller that may name any tenant can add tenants up to the limit. The refusal
// contains the remedy.
//
//guarantee:tenant-flood
func TestHandler_NewTenants(t *testing.T) {
	to := &recorder{}
	h := Handler(to, HandlerOptions{Tenants: admission.New(admission.Options{Limit: 2})})
	send := func(tenant string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/events", strings.NewReader(of(tenant, tenant)))
		r.Header.Set("Content-Type", "application/cloudevents+json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, tenant := range []string{"a", "b", "default", "a"} {
		if w := send(tenant); w.Code != http.StatusAccepted {
			t.Errorf("%s: %d %s", tenant, w.Code, w.Body)
		}
	}
	w := send("c\x1b[31m")
	if w.Code != http.StatusBadRequest && w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "\x1b") {
		t.Errorf("a hostile tenant: %d %s", w.Code, w.Body)
	}
	if w := send("c"); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "--open-tenants") || !strings.Contains(w.Body.String(), `"attribute":"tenant"`) {
		t.Errorf("beyond the limit: %d %s", w.Code, w.Body)
	}
	if len(to.list) != 4 {
		t.Errorf("took %d events, want 4", len(to.list))
	}
}

func TestPipe_NewTenants(t *testing.T) {
	_, b := open(t)
	lines := strings.Join([]string{of("1", "a"), of("2", "default"), of("3", "b")}, "\n")
	sum, err := Pipe(t.Context(), strings.NewReader(lines), PipeOptions{
		Broker: b, DataDir: t.TempDir(), Name: "stdin", Tenants: admission.New(admission.Options{Limit: 1}),
	})
	if !errors.Is(err, admission.ErrTenant) || sum.New != 2 {
		t.Errorf("took %d events, %v", sum.New, err)
	}
}
