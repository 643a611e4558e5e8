package access_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The caller names the person, but the recorded user is that of the operating system.
//
//guarantee:access-user
func TestRecord_NamesTheUser(t *testing.T) {
	t.Setenv("USER", "the-boss")
	e, err := access.Record(t.Context(), t.TempDir(), "acme", events.AuditAccessedData{
		Action: events.AuditReplay, By: "CFO", User: "the-boss@office",
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil || d.By != "CFO" || d.User != osuser.Current() {
		t.Errorf("got by %q and user %q, %v, want CFO and %q", d.By, d.User, err, osuser.Current())
	}
}
