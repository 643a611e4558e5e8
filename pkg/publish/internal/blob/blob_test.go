package blob

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestExternalise_StableIDs(t *testing.T) {
	e, err := events.New(events.ToolBefore, "/test", events.ToolBeforeData{Tool: "T"})
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Tenant, e.Run = "event-1", "acme", "run-1"
	e.Data = []byte(`{"tool":"T","args":"` + strings.Repeat("x", 2<<20) + `"}`)
	a, b := e, e
	first, err := Externalise(&a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Externalise(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 6 || len(second) != 6 {
		t.Fatalf("%d and %d events", len(first), len(second))
	}
	for i := range first {
		if first[i].ID != second[i].ID || first[i].Run != "run-1" {
			t.Errorf("chunk %d: %s and %s, run %s", i, first[i].ID, second[i].ID, first[i].Run)
		}
	}
}
