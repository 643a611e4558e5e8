package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Events lost at a full outbox are a recorded gap of the producer, and not missing.
//
//guarantee:outbox-full
func TestShedIsARecordedGap(t *testing.T) {
	dir := t.TempDir()
	opts := publish.SharedOptions{Tenant: "default", Redactor: publish.NoRedaction, Quota: 16 << 10, Full: publish.Shed}
	var lost []uint64
	for n := range 60 {
		e, err := events.New(events.PromptSubmit, "/e2e", events.PromptSubmitData{Prompt: strings.Repeat("x", 200)})
		if err != nil {
			t.Fatal(err)
		}
		e.ID, e.Run = fmt.Sprintf("e-%d", n), "r"
		list, err := publish.AppendShared(t.Context(), filepath.Join(dir, "outbox", "shared"), opts, e)
		switch {
		case errors.Is(err, publish.ErrShed):
			lost = append(lost, list[0].Sequence)
		case err != nil:
			t.Fatal(err)
		}
	}
	if len(lost) == 0 {
		t.Fatal("nothing was shed")
	}
	status := run(t, 0, "publisher", "outbox", "status", "--data-dir", dir)
	want := fmt.Sprintf("lost: events %d to %d of tenant default: shed", lost[0], lost[len(lost)-1])
	if !strings.Contains(status, want) {
		t.Errorf("outbox status: got\n%s\nwant %s", status, want)
	}
	run(t, 0, "publisher", "outbox", "flush", "--data-dir", dir)
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	report := run(t, 11, "auditor", "verify", "--data-dir", dir)
	want = fmt.Sprintf("#%d–#%d missing (the producer recorded it: shed)", lost[0], lost[len(lost)-1])
	if !strings.Contains(report, want) {
		t.Errorf("auditor verify: got\n%s\nwant %s", report, want)
	}
}
