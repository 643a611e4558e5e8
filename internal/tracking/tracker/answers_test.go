package tracker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// answersIn returns the rules of the answers in the stream, in their order.
func answersIn(t *testing.T, p *pipeline, order string) (rules []string) {
	t.Helper()
	for _, e := range p.Stored(events.IssueDecided) {
		if d, err := events.Payload[events.IssueDecidedData](e); err != nil {
			t.Fatal(err)
		} else if d.Event == order {
			rules = append(rules, d.Rule)
		}
	}
	return rules
}

// A tracker with another data directory than the auditor answers an erasure order once, also after
// it lost its files.
//
//guarantee:erase-issues
func TestAnswers(t *testing.T) {
	p, key := newPipeline(t), openKey(t, t.TempDir())
	p.Publish("engine", quoted(t, "r1", "mmuster", marker)...)
	p.Publish("auditor", orderEvent(t, key, ledger.Order{Action: events.AuditErase, ID: "o1", Selection: ledger.OrderSelection{Run: "r1"}}))
	want := func(when string, want ...string) {
		t.Helper()
		if got := answersIn(t, p, "o1"); !slices.Equal(got, want) {
			t.Errorf("%s: got answers %q, want %q", when, got, want)
		}
	}
	withKey := func(o *Options) { o.OrderKey = key.Public() }
	p.mustDrain()
	p.mustDrain()
	want("without a key", events.RuleWaits)
	p.mustDrain(withKey)
	p.mustDrain(withKey)
	want("with the key", events.RuleWaits, events.RuleErased)
	if err := os.RemoveAll(filepath.Dir(store.File(p.DataDir))); err != nil {
		t.Fatal(err)
	}
	p.mustDrain(withKey)
	p.mustDrain(withKey)
	want("after the files were lost", events.RuleWaits, events.RuleErased)
}

// The tracker of the auditor's data directory sends no answers, because the auditor sees its files.
func TestAnswers_SameDataDirectory(t *testing.T) {
	p := newPipeline(t)
	p.Publish("auditor", orderEvent(t, openKey(t, p.DataDir), ledger.Order{Action: events.AuditErase, ID: "o1", Selection: ledger.OrderSelection{Run: "r1"}}))
	p.mustDrain()
	if got := answersIn(t, p, "o1"); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
