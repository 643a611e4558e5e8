package ingest_test

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// With Records, CloudEvents also yields the seals and gaps of other outboxes.
func TestCloudEvents_Records(t *testing.T) {
	const in = `{"specversion":"1.0","id":"1","source":"s","type":"hooktrail.run.sealed","subject":"r","time":"2026-03-01T09:00:00Z",` +
		`"producer":"p","sequence":"7","data":{"count":1,"first":1,"last":1,"digest":"` +
		`0000000000000000000000000000000000000000000000000000000000000000"}}`
	for e, err := range ingest.CloudEvents(t.Context(), strings.NewReader(in), ingest.Options{File: "-", Tenant: "mine", Records: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Run != "r" || e.Sequence != 0 {
			t.Errorf("got run %q and sequence %d", e.Run, e.Sequence)
		}
		return
	}
	t.Error("no event was yielded")
}
