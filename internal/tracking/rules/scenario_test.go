package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

// floorOfScenarios is the minimum precision and recall.
const floorOfScenarios = 0.95

func TestScenarios(t *testing.T) {
	all := make(map[string]rulestest.Verdict)
	for _, sc := range rulestest.Load(t) {
		set := sc.Name[:1]
		t.Run(sc.Name, func(t *testing.T) {
			o := rulestest.Run(t, rulestest.Deal(t, sc), rules.DefaultConfig(), nil)
			v := rulestest.Judge(sc, o)
			for _, problem := range first(v.Problems, 8) {
				t.Errorf("%s: %s", sc.Title, problem)
			}
			if len(v.Problems) > 0 && sc.Why != "" {
				t.Logf("why: %s", sc.Why)
			}
			sum := all[set]
			sum.Add(v)
			all[set] = sum
		})
	}
	for set, v := range all {
		t.Logf("%s: precision %.3f, recall %.3f (%d right of %d issues, %d wanted)", set, v.Precision(), v.Recall(), v.Right, v.Issues, v.Wanted)
		if v.Precision() < floorOfScenarios || v.Recall() < floorOfScenarios {
			t.Errorf("%s: precision or recall is below %.2f", set, floorOfScenarios)
		}
	}
}

func first(problems []string, n int) []string {
	if len(problems) <= n {
		return problems
	}
	return append(problems[:n:n], fmt.Sprintf("… and %d more", len(problems)-n))
}

func TestScenarioLabels(t *testing.T) {
	names := make(map[string]bool)
	for _, sc := range rulestest.Load(t) {
		if names[sc.Name] {
			t.Errorf("%s is there twice", sc.Name)
		}
		names[sc.Name] = true
		ids := make(map[[2]string]bool)
		for _, e := range sc.Events {
			ids[[2]string{e.Tenant, e.ID}] = true
		}
		for _, want := range sc.Expected {
			if len(want.Kind) == 0 || len(want.Final) == 0 || len(want.Covers) == 0 {
				t.Errorf("%s: %s has no kind, status or events", sc.Name, want.Key)
			}
			for _, id := range want.Covers {
				if !ids[[2]string{want.Tenant, id}] {
					t.Errorf("%s: %s covers %s, which is not there", sc.Name, want.Key, id)
				}
			}
		}
		for _, question := range sc.Open {
			if strings.TrimSpace(question) == "" {
				t.Errorf("%s asks nothing", sc.Name)
			}
		}
	}
}
