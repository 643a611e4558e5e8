package publisher

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var reserved = []events.Kind{
	events.IssueEdited, events.IssueDecided, events.AuditAccessed, "audit.later", "producer.closed", "clock.later", "issue.later",
	events.RunSealed, events.GapRecorded, events.ClockTicked, events.BlobChunk,
}

func ofKind(kind events.Kind) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":"e","source":"s","type":%q,"data":{"action":"closed","by":"the boss"}}`, kind.Type())
}

//guarantee:reserved-kinds
func TestHandler_RefusesReservedKinds(t *testing.T) {
	for _, kind := range reserved {
		for media, body := range map[string]string{
			"application/cloudevents+json":       ofKind(kind),
			"application/cloudevents-batch+json": "[" + one("1") + "," + ofKind(kind) + "]",
			"application/x-ndjson":               one("1") + "\n" + ofKind(kind) + "\n",
			"application/json":                   `{}`,
		} {
			to := &recorder{}
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/v1/events", strings.NewReader(body))
			r.Header.Set("Content-Type", media)
			if media == "application/json" { // binary mode
				for name, value := range map[string]string{"Specversion": "1.0", "Id": "e", "Source": "s", "Type": kind.Type()} {
					r.Header.Set("Ce-"+name, value)
				}
			}
			w := httptest.NewRecorder()
			Handler(to, HandlerOptions{Tenant: "acme"}).ServeHTTP(w, r)
			said := w.Body.String()
			if w.Code != http.StatusBadRequest || !strings.Contains(said, string(kind)+": a reserved kind") || strings.Contains(said, "boss") {
				t.Errorf("%s as %s: got %d %s", kind, media, w.Code, said)
			}
			if strings.HasPrefix(body, "[") && !strings.Contains(said, `"index":1`) {
				t.Errorf("%s as %s: no position in %s", kind, media, said)
			}
			for _, e := range to.list {
				if ingest.Reserved(e.Kind()) {
					t.Errorf("took a %s", kind)
				}
			}
		}
	}
}

// A copy of recorded events leaves out the records of services, and keeps chunks.
//
//guarantee:reserved-kinds
func TestFeed_LeavesOutReservedKinds(t *testing.T) {
	lines := []string{one("1")}
	chunk := `{"specversion":"1.0","id":"c","source":"s","type":"hooktrail.blob.chunk","time":"2026-03-01T09:00:00Z","data":{"sha256":"` +
		events.HashOf([]byte("abc")).String() + `","bytes":3,"index":0,"chunks":1,"content":"YWJj"}}`
	for _, kind := range reserved[:len(reserved)-1] {
		lines = append(lines, ofKind(kind))
	}
	to := &recorder{}
	f := feed{sink: to, runs: map[string]struct{}{}}
	in := ingest.CloudEvents(t.Context(), strings.NewReader(strings.Join(append(lines, chunk), "\n")), ingest.Options{File: "-", Tenant: "acme"})
	if err := f.take(t.Context(), "-", in); err != nil {
		t.Fatal(err)
	}
	if f.counts.Records != len(reserved)-1 || f.malformed != 0 || len(to.list) != 2 || to.list[1].Kind() != events.BlobChunk {
		t.Errorf("left out %d, malformed %v, took %d, want the first and the chunk", f.counts.Records, f.list, len(to.list))
	}
}
