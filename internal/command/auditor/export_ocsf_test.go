package auditor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
)

// Each leaf is a row, and its id leads to a proof.
//
//guarantee:ocsf
func TestExport_OCSF(t *testing.T) {
	_, dir := reportable(t)
	in := []string{"--data-dir", dir, "--tenant", "acme"}
	status, out := command(t, append([]string{"export", "--format", "ocsf"}, in...)...)
	leaves := auditortest.Verify(t, dir, "acme").Leaves
	if rows := strings.Count(out, "\n"); status != 0 || int64(rows) != leaves {
		t.Fatalf("status %d, %d rows of %d leaves", status, rows, leaves)
	}
	if strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("rows have the text of an agent as it came: %q", out)
	}
	var denied struct {
		Class    int `json:"class_uid"`
		Action   int `json:"action_id"`
		Metadata struct{ UID string }
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"action_id":2`) {
			if err := json.Unmarshal([]byte(line), &denied); err != nil {
				t.Fatal(err)
			}
		}
	}
	if denied.Class != 6003 || denied.Action != 2 {
		t.Errorf("the denied call: %+v", denied)
	}
	if status, _ := command(t, append([]string{"proof", denied.Metadata.UID}, in...)...); status != 0 {
		t.Errorf("no proof of %s: status %d", denied.Metadata.UID, status)
	}
}
