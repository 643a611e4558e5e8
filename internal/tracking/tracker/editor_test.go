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
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A tracker that serves asks for what people change, again and again: nothing
// comes by in the stream that would tell it to.
func TestServe_TakesInWhatPeopleChange(t *testing.T) {
	t.Parallel()
	p := newPipeline(t)
	p.publish("engine", longStory(t)...)
	p.mustDrain()
	byHand := func(tenant, id string) {
		p.edit(tenant, id, func(i *beads.Issue) {
			i.Status, i.ClosedAt, i.CloseReason = beads.Closed, rulestest.StoryBegins.Add(time.Hour), "by hand"
			i.UpdatedAt = i.ClosedAt
		})
	}
	list, err := List(t.Context(), p.dataDir, "beta")
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v of beta, error %v", list, err)
	}
	// The workspace of another tenant: the tracker writes that of the first one
	// again when it has taken its edit in.
	ids := map[string]string{"acme": p.titled("write docs"), "beta": list[0].ID}
	isClosed := func(tenant string) bool {
		i, err := find(t.Context(), p.dataDir, tenant, ids[tenant])
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
	for _, e := range p.stored(events.IssueEdited) {
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

// edit changes an issue of tenant in its workspace, as a person does.
func (p *pipeline) edit(tenant, id string, change func(*beads.Issue)) {
	p.tb.Helper()
	path, err := beads.File(filepath.Join(p.dataDir, "beads"), tenant)
	if err != nil {
		p.tb.Fatal(err)
	}
	all := readBeads(p.tb, path)
	i, ok := all[id]
	if !ok {
		p.tb.Fatalf("issue %s is not in %s", id, path)
	}
	change(&i)
	all[id] = i
	writeBeads(p.tb, path, all)
}

// writeBeads puts a file of issues in the place of another one.
func writeBeads(tb testing.TB, path string, all map[string]beads.Issue) {
	tb.Helper()
	var text []byte
	for _, id := range slices.Sorted(maps.Keys(all)) {
		var err error
		if text, err = all[id].AppendLine(text); err != nil {
			tb.Fatal(err)
		}
	}
	whole := filepath.Join(tb.TempDir(), "issues.jsonl") // who reads meanwhile has the one or the other
	if err := os.WriteFile(whole, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(whole, path); err != nil {
		tb.Fatal(err)
	}
}
