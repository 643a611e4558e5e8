package tracker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

// From a file, whatif makes the issues that a person would have filed. They equal those of a direct
// fold.
//
//guarantee:replay-rules
func TestWhatif_Scenarios(t *testing.T) {
	config := rules.DefaultConfig()
	sums := make(map[string]rulestest.Verdict)
	for _, sc := range rulestest.Load(t) {
		t.Run(sc.Name, func(t *testing.T) {
			list := rulestest.Deal(t, sc)
			got := whatifJSON[rulestest.Outcome](t, "--events", rulestest.WriteEvents(t, rulestest.Events(t, list, config)...))
			like := rulestest.Likeness{Titles: true, Transitions: true}
			want := rulestest.Run(t, list, config, nil)
			if diff := cmp.Diff(rulestest.Canon(want, like), rulestest.Canon(got, like)); diff != "" {
				t.Errorf("%s (-fold +whatif):\n%s", sc.Title, diff)
			}
			v := rulestest.Judge(sc, got)
			for _, problem := range v.Problems {
				t.Errorf("%s: %s", sc.Title, problem)
			}
			sum := sums[sc.Name[:1]]
			sum.Add(v)
			sums[sc.Name[:1]] = sum
		})
	}
	for set, v := range sums {
		t.Logf("%s: precision %.3f, recall %.3f (%d right of %d issues, %d wanted)", set, v.Precision(), v.Recall(), v.Right, v.Issues, v.Wanted)
	}
}
