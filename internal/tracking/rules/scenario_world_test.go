package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

// floorOfWorlds is the minimum precision and recall.
const floorOfWorlds = 0.97

// Each cause of a simulated day has one issue, even if events are late or repeated and trackers
// restart.
func TestWorlds(t *testing.T) {
	var sum rulestest.Verdict
	for seed := range uint64(race.Size(2, 1)) {
		sc := rulestest.World(seed)
		list := rulestest.Jitter(rulestest.Deal(t, sc), 8*time.Second, seed)
		o := rulestest.Run(t, list, rules.DefaultConfig(), nil)
		v := rulestest.Judge(sc, o)
		sum.Add(v)
		failed := 0
		for _, e := range sc.Events {
			if e.Status == "failed" || (e.Ev == "end" && !e.OK) {
				failed++
			}
		}
		t.Logf("%s: %d events, %d of them failures, %d causes: %d issues, precision %.3f, recall %.3f",
			sc.Name, len(sc.Events), failed, len(sc.Expected), v.Issues, v.Precision(), v.Recall())
		for _, problem := range first(v.Problems, 12) {
			t.Log(problem)
		}
		again := rulestest.Run(t, rulestest.Twice(list), rules.DefaultConfig(), inTurn(3))
		if diff := cmp.Diff(rulestest.Canon(o, exact), rulestest.Canon(again, exact)); diff != "" {
			t.Errorf("%s: three trackers that get every event twice (-one +three):\n%s", sc.Name, diff)
		}
	}
	t.Logf("together: precision %.3f, recall %.3f (%d right of %d issues, %d wanted)", sum.Precision(), sum.Recall(), sum.Right, sum.Issues, sum.Wanted)
	if sum.Precision() < floorOfWorlds || sum.Recall() < floorOfWorlds {
		t.Errorf("precision or recall is below %.2f", floorOfWorlds)
	}
}
