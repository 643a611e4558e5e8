package tracker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestRun_AnotherConfigurationDecidesOnWhatIsNew(t *testing.T) {
	p := newPipeline(t)
	before, after := rules.DefaultConfig(), rules.DefaultConfig()
	after.Complexity++
	list := renamed(rulestest.Story(t), "old")
	p.Publish("engine", list...)
	p.mustDrain()
	decided := p.configs()
	p.Publish("engine2", renamed(rulestest.Story(t), "new")...)
	p.mustDrain(func(o *Options) { o.Config = after })
	got := p.configs()
	for event, config := range got {
		want, old := decided[event]
		if !old {
			want = after.Hash()
		}
		if config != want {
			t.Errorf("event %s was decided on under %s, want %s", event, config, want)
		}
	}
	if diff := cmp.Diff(decided[list[0].ID], before.Hash()); diff != "" || len(got) <= len(decided) {
		t.Errorf("%d decisions became %d; the first is under another configuration (-got +want):\n%s", len(decided), len(got), diff)
	}
}

func (p *pipeline) configs() map[string]string {
	p.TB.Helper()
	found := make(map[string]string)
	for _, e := range p.Stored(events.IssueDecided) {
		d, err := events.Payload[events.IssueDecidedData](e)
		if err != nil {
			p.TB.Fatal(err)
		}
		found[d.Event] = d.Config
	}
	return found
}
