package cehttp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
)

// An error in a payload has its position in the input, even if the input is not compact
// JSON.
func TestPositionInPayload(t *testing.T) {
	const wrong = `"maybe"`
	event := func(data string) string {
		return `{"subject":"{\"status\":\"x\"}","specversion":"1.0","id":"1","source":"s","type":"hooktrail.tool.result","time":"2026-01-01T00:00:00Z","data":` + data + `,"sequence":"7"}`
	}
	compact, spaced := event(`{"status":"maybe"}`), event(` { "raw" : [ 1, 2 ] , "status" : "maybe" } `)
	batch := "[" + event(`{"status":"success"}`) + ", " + spaced + "]"
	binary := map[string]string{
		"Ce-Specversion": "1.0", "Ce-Id": "1", "Ce-Source": "s", "Ce-Type": "hooktrail.tool.result",
		"Ce-Time": "2026-01-01T00:00:00Z", "Content-Type": "application/json",
	}
	for name, body := range map[string]string{"Compact": compact, "Spaced": spaced, "EscapedName": strings.Replace(spaced, `"data"`, `"d\u0061ta"`, 1)} {
		t.Run("Line/"+name, func(t *testing.T) {
			for _, err := range ingest.CloudEvents(t.Context(), strings.NewReader(body), ingest.Options{File: "f", Tenant: "t"}) {
				var bad *ingest.LineError
				if want := strings.Index(body, wrong) + 1; !errors.As(err, &bad) || bad.Column != want {
					t.Errorf("got %v, want column %d", err, want)
				}
			}
		})
	}
	for _, tt := range []struct {
		name    string
		headers map[string]string
		body    string
	}{
		{"Structured", typed(ceType), spaced},
		{"Batch", typed(batchType), batch},
		{"Binary", binary, `{"raw" : 1, "status":"maybe"}`},
	} {
		t.Run("Request/"+tt.name, func(t *testing.T) {
			_, err := all(post(tt.headers, tt.body))
			var refused *cehttp.Error
			if want := strings.Index(tt.body, wrong); !errors.As(err, &refused) || refused.Offset != want {
				t.Errorf("got %v, want byte %d", err, want)
			}
		})
	}
}
