package tiles

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Of two auditors with one key, only the active one serves the log.
//
//guarantee:standby-quiet
func TestServer_StandsBy(t *testing.T) {
	l := write(t, "acme")
	for _, other := range []bool{false, true} {
		h := unlessStandby(func() bool { return other }, Handler(l.dir, nil, slog.New(slog.DiscardHandler)))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/hooktrail/acme/checkpoint", nil))
		if standsBy := w.Code == http.StatusServiceUnavailable; standsBy != other {
			t.Errorf("the other one's turn: %v, got %d", other, w.Code)
		}
	}
}
