package rules_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An interrupt and an unknown end are no failures. They open no issue, and a tracked run stays in
// progress.
func TestFold_CutOff(t *testing.T) {
	for status, rule := range map[events.RunStatus]string{events.RunInterrupted: "run interrupted", events.RunUnknown: "run cut off"} {
		for runType, want := range map[string]int{"REVIEW": 0, "RESOLVE": 1} {
			h := newHistory(t, runType).start(nil).step("s1", events.StepInterrupted, "", nil).step("s2", events.StepUnknown, "", nil)
			h.end(false, nil)
			last := &h.list[len(h.list)-1]
			data, err := events.Payload[events.RunFinishedData](*last)
			if err != nil {
				t.Fatal(err)
			}
			data.SetStatus(status)
			if err := last.SetData(data); err != nil {
				t.Fatal(err)
			}
			s, decisions := fold(t, h.list)
			list := s.Issues()
			if len(list) != want || want == 1 && (list[0].Kind != rules.Tracking || list[0].Status != rules.InProgress) {
				t.Errorf("%s %s: got issues %+v", status, runType, list)
			}
			if got := decisions[len(decisions)-1].Rule; len(got) < len(rule) || got[:len(rule)] != rule {
				t.Errorf("%s %s: rule %q", status, runType, got)
			}
		}
	}
}
