package tracker

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A serving tracker polls for edits, because no event announces them.
func TestServe_TakesInWhatPeopleChange(t *testing.T) {
	t.Parallel()
	p := newPipeline(t)
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain()
	byHand := func(tenant, id string) {
		p.edit(tenant, id, func(i *beads.Issue) {
			i.Status, i.ClosedAt, i.CloseReason = beads.Closed, rulestest.StoryBegins.Add(time.Hour), "by hand"
			i.UpdatedAt = i.ClosedAt
		})
	}
	list, err := List(t.Context(), p.DataDir, "beta")
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v of beta, error %v", list, err)
	}
	// Use another tenant, because the tracker rewrites the first workspace.
	ids := map[string]string{"acme": p.titled("write docs"), "beta": list[0].ID}
	isClosed := func(tenant string) bool {
		i, err := find(t.Context(), p.DataDir, tenant, ids[tenant])
		return err == nil && i.Status == rules.Closed
	}
	byHand("acme", ids["acme"])
	edited := false
	p.serveUntil(func() bool {
		if !edited && isClosed("acme") {
			byHand("beta", ids["beta"])
			edited = true
		}
		return edited && isClosed("beta")
	})
	got := make(map[string]string)
	for _, e := range p.Stored(events.IssueEdited) {
		d, err := events.Payload[events.IssueEditedData](e)
		if err != nil || d.Action != string(beads.ActionClosed) || got[e.Tenant] != "" {
			t.Errorf("published %+v for %s, error %v", d, e.Tenant, err)
		}
		got[e.Tenant] = d.Issue
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("edits in the stream (-want +got):\n%s", diff)
	}
}

// edit changes an issue like a person.
func (p *pipeline) edit(tenant, id string, change func(*beads.Issue)) {
	p.TB.Helper()
	path, err := beads.File(filepath.Join(p.DataDir, "beads"), tenant)
	if err != nil {
		p.TB.Fatal(err)
	}
	all := trackertest.ReadBeads(p.TB, path)
	i, ok := all[id]
	if !ok {
		p.TB.Fatalf("issue %s is not in %s", id, path)
	}
	change(&i)
	all[id] = i
	writeBeads(p.TB, path, all)
}

func writeBeads(tb testing.TB, path string, all map[string]beads.Issue) {
	tb.Helper()
	var text []byte
	for _, id := range slices.Sorted(maps.Keys(all)) {
		var err error
		if text, err = all[id].AppendLine(text); err != nil {
			tb.Fatal(err)
		}
	}
	whole := filepath.Join(tb.TempDir(), "issues.jsonl") // rename, so that readers get a whole file
	if err := os.WriteFile(whole, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(whole, path); err != nil {
		tb.Fatal(err)
	}
}
