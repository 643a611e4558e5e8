package tracker

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:access-user
func TestRecordEdit_NamesTheUser(t *testing.T) {
	e, err := RecordEdit(t.Context(), t.TempDir(), "acme", events.IssueEditedData{
		Issue: "ht-1", Action: ActionClosed, By: "the boss", User: "the-boss@office", Value: "done",
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := events.Payload[events.IssueEditedData](e)
	if err != nil || d.By != "the boss" || d.User != osuser.Current() || d.Value != "done" {
		t.Errorf("got %+v, %v, want the user %q", d, err, osuser.Current())
	}
}
