package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The reason for closing becomes the issue's reason. The decision, which goes into the stream,
// names the person but does not quote it.
func TestPeople_ReasonOfClosing(t *testing.T) {
	for _, test := range []struct{ action, value, want string }{
		{"closed", "fixed in 4.2", "Closed by jdoe: fixed in 4.2"},
		{"closed", "", "Closed by jdoe"},
		{"closed", " two\nlines\x1b[2J ", "Closed by jdoe: two lines [2J"},
		{"not_planned", "the mirror is retired", "Closed as not planned by jdoe: the mirror is retired"},
		{"not_planned", "", "Closed as not planned by jdoe"},
		{"closed", strings.Repeat("x", 10_000), "Closed by jdoe: " + strings.Repeat("x", 499) + "…"},
	} {
		t.Run(test.action+"/"+test.value[:min(8, len(test.value))], func(t *testing.T) {
			h := newHistory(t, "RESOLVE").start(nil)
			edit := events.Event{
				ID: "edit", Source: "/people", Type: events.IssueEdited.Type(), Time: epoch.Add(time.Minute), Tenant: h.tenant,
			}
			if err := edit.SetData(events.IssueEditedData{Event: h.list[0].ID, Action: test.action, By: "jdoe", Value: test.value}); err != nil {
				t.Fatal(err)
			}
			s, decisions := fold(t, append(h.list, edit))
			list := s.Issues()
			if len(list) != 1 || list[0].Status != rules.Closed || list[0].Reason != test.want {
				t.Errorf("issues are %+v, want the reason %q", list, test.want)
			}
			last := decisions[len(decisions)-1]
			for _, e := range last.Effects {
				if e.Op == rules.OpTransition && e.Reason != test.want {
					t.Errorf("the workspace has %q, want %q", e.Reason, test.want)
				}
			}
			who, _, _ := strings.Cut(test.want[1:], ":")
			if !strings.Contains(last.Reason, who) || test.value != "" && strings.Contains(last.Reason, test.value) || last.Flip != "no such edit" {
				t.Errorf("the decision says %q, and otherwise with %q", last.Reason, last.Flip)
			}
		})
	}
}

// Erasing a waiting edit erases its text for good.
func TestPeople_ErasedWhileTheEditWaits(t *testing.T) {
	for _, action := range []string{"closed", "not_planned", "retitled"} {
		t.Run(action, func(t *testing.T) {
			edit := events.Event{ID: "edit", Source: "/people", Type: events.IssueEdited.Type(), Time: epoch, Tenant: "acme"}
			if err := edit.SetData(events.IssueEditedData{Event: "e1", Action: action, By: "jdoe", Value: "MARKER"}); err != nil {
				t.Fatal(err)
			}
			s := rules.NewState(nil)
			if _, err := s.Apply(edit, rules.DefaultConfig()); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, r := range s.Changes().Records {
				found = found || strings.Contains(string(r.JSON), "MARKER")
				erasure := rules.Erasure{Events: []string{"edit"}, Text: "erased"}
				data, _, err := erasure.Record(r.Key, r.JSON)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(data), "MARKER") {
					t.Errorf("%s %s still has %s", r.Kind, r.ID, data)
				}
			}
			if !found {
				t.Error("the text was missing from the beginning")
			}
		})
	}
}
