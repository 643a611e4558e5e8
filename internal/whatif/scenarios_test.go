package whatif

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/issues/issuestest"
)

// The command comes to the issues that a person would have filed, and to those of
// the fold, from a file alone.
func TestCommand_Scenarios(t *testing.T) {
	config := issues.DefaultConfig()
	sums := make(map[string]issuestest.Verdict)
	for _, sc := range issuestest.Load(t) {
		t.Run(sc.Name, func(t *testing.T) {
			list := issuestest.Deal(t, sc)
			got := callJSON[issuestest.Outcome](t, "--events", issuestest.WriteEvents(t, issuestest.Events(t, list, config)...))
			like := issuestest.Likeness{Titles: true, Transitions: true}
			want := issuestest.Run(t, list, config, nil)
			if diff := cmp.Diff(issuestest.Canon(want, like), issuestest.Canon(got, like)); diff != "" {
				t.Errorf("%s (-fold +whatif):\n%s", sc.Title, diff)
			}
			v := issuestest.Judge(sc, got)
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
