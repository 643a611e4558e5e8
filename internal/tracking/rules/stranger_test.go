package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	failing = "failed"
	green   = "completed"
)

type step struct {
	at       float64 // minutes
	status   string
	text     string
	severity string
	human    string // if set, a person does this to the issue of the first step
}

// tell returns the outcome of steps of separate runs of one role.
func tell(t *testing.T, steps ...step) rulestest.Outcome {
	t.Helper()
	sc := rulestest.Scenario{Name: "S"}
	for n, s := range steps {
		e := rulestest.Event{
			T: s.at * 60, ID: fmt.Sprintf("s%d", n), Tenant: "acme", Run: fmt.Sprintf("r%d", n), Ev: "step", Type: "REVIEW",
			Step: "CODER", Role: "CODER", Status: s.status, Meta: map[string]any{"target": "x"},
		}
		if s.severity != "" {
			e.Meta["severity"] = s.severity
		}
		if s.status == failing {
			e.Err = s.text
		} else {
			e.Out = s.text
		}
		if s.human != "" {
			e = rulestest.Event{T: e.T, ID: e.ID, Tenant: e.Tenant, Ev: "human", Event: "s0", Action: s.human, By: "dana"}
		}
		sc.Events = append(sc.Events, e)
	}
	return rulestest.Run(t, rulestest.Deal(t, sc), rules.DefaultConfig(), nil)
}

func TestStrangers_Failures(t *testing.T) {
	relapses := func(n int, hours float64) (steps []step) {
		for i := range n {
			steps = append(steps, step{at: float64(i) * hours * 60, status: failing, text: "probe red"},
				step{at: (float64(i) + 0.5) * hours * 60, status: green})
		}
		return steps
	}
	for name, test := range map[string]struct {
		steps []step
		want  rules.Status
	}{
		"reopened, then green": {[]step{
			{0, failing, "bucket is public", "", ""}, {10, green, "", "", ""}, {20, "", "", "", "reopened"}, {60, green, "", "", ""},
		}, rules.Open},
		"reopened, then red and green": {[]step{
			{0, failing, "key is too short", "", ""},
			{10, green, "", "", ""},
			{20, "", "", "", "reopened"},
			{60, failing, "key is too short", "", ""},
			{90, green, "", "", ""},
		}, rules.Open},
		"reopened, green, closed by a person": {[]step{
			{0, failing, "cert expires", "", ""}, {10, green, "", "", ""}, {20, "", "", "", "reopened"}, {60, green, "", "", ""}, {70, "", "", "", "closed"},
		}, rules.Closed},
		"critical, then green": {[]step{
			{0, failing, "secret in the log", "critical", ""}, {10, green, "", "", ""},
		}, rules.Open},
		"critical, green before it": {[]step{
			{0.2, green, "", "", ""}, {0, failing, "sanctioned name", "critical", ""},
		}, rules.Open},
		"critical at the second time": {[]step{
			{0, failing, "card number", "", ""}, {10, failing, "card number", "critical", ""}, {20, green, "", "", ""},
		}, rules.Open},
		"critical, closed by a person, then green": {[]step{
			{0, failing, "patient id", "critical", ""}, {10, "", "", "", "closed"}, {20, green, "", "", ""},
		}, rules.Closed},
		"five times, every three hours":  {relapses(5, 3), rules.Flapping},
		"five times, every five hours":   {relapses(5, 5), rules.Flapping},
		"eight times, every three hours": {relapses(8, 3), rules.Flapping},
		"four times, every five hours":   {relapses(4, 5), rules.Closed},
		"five times, every ten hours":    {relapses(5, 10), rules.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			o := tell(t, test.steps...)
			if len(o.Issues) != 1 || o.Issues[0].Status != string(test.want) {
				t.Errorf("got %+v, want one that is %s", o.Issues, test.want)
			}
		})
	}
}

// The first step leaves the item, and the second reports something that sounds alike.
func TestStrangers_Done(t *testing.T) {
	for item, reports := range map[string]map[string]rules.Status{
		"rotate the staging API key": {
			"Done: rotate the production API key.":           rules.Open,
			"Done: the staging API key is rotated.":          rules.Closed,
			"Rotated the staging API key.":                   rules.Closed,
			"Rotated the staging API key, but it is ignored": rules.Open,
		},
		"clean up the EU bucket": {
			"Done: clean up the US bucket.":        rules.Open,
			"Done: clean up the EU bucket.":        rules.Closed,
			"Cleaned up the EU bucket.":            rules.Closed,
			"Finished: looked at the EU bucket.":   rules.Open,
			"Done: the EU bucket was cleaned up.":  rules.Closed,
			"Done: described the EU bucket fully.": rules.Open,
		},
		"compress the meter images": {
			"Done: the meter images have been compressed.": rules.Closed,
			"Compressed the meter images.":                 rules.Closed,
			"Done: compress the meter logs.":               rules.Open,
		},
		"process the returns of May": {
			"Done: the returns of May were processed.": rules.Closed,
			"Processed the returns of May.":            rules.Closed,
			"Done: processed the returns of June.":     rules.Open,
		},
		"add unit tests for the parser": {
			"Added unit tests for the parser.":             rules.Closed,
			"I added unit tests for the parser.":           rules.Closed,
			"Added unit tests for the lexer.":              rules.Open,
			"Done: integration tests for the parser added": rules.Open,
		},
	} {
		for report, want := range reports {
			o := tell(t, step{0, green, "Moved it. Follow-up: " + item + ".", "", ""}, step{60, green, report, "", ""})
			if len(o.Issues) != 1 || o.Issues[0].Status != string(want) {
				t.Errorf("%q after %q: got %+v, want %s", report, item, o.Issues, want)
			}
		}
	}
}

func TestStrangers_OneOutage(t *testing.T) {
	texts := []string{
		`API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		"POST https://api.anthropic.com/v1/messages: 503 Service Unavailable",
		"request to https://api.openai.com/v1/responses failed, reason: getaddrinfo ENOTFOUND api.openai.com",
	}
	var steps []step
	for n, text := range texts {
		steps = append(steps, step{float64(n), failing, text, "", ""})
	}
	if o := tell(t, steps...); len(o.Issues) != 1 || len(o.Issues[0].Events) != 3 {
		t.Errorf("got %+v", o.Issues)
	}
}

func TestRelapses_EarlierConfiguration(t *testing.T) {
	c := rules.DefaultConfig()
	c.Relapses = rules.Limit{}
	list := failAt(t, nil, 0, "boom", nil)
	for n := range 6 {
		at := time.Duration(n) * 3 * time.Hour
		list = failAt(t, succeedAt(t, list, at+time.Hour), at+3*time.Hour, "boom", nil)
	}
	s := rules.NewState(nil)
	for _, e := range list {
		if _, err := s.Apply(e, c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Release(c); err != nil {
		t.Fatal(err)
	}
	if got := s.Issues()[0].Status; got != rules.Open {
		t.Errorf("got %s, want open", got)
	}
}

// A blocked issue says why, wherever the error was told.
func TestStrangers_BlockedSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		history func(h *history)
		reason  string
	}{
		"the step failed": {func(h *history) {
			h.start(nil).step("s1", events.StepFailed, "", nil)
		}, "Step CODER failed: boom"},
		"the step failed, and the run ended soon": {func(h *history) {
			h.start(nil).step("s1", events.StepFailed, "", nil).end(false, nil)
		}, "Run failed: Step CODER failed: boom"},
		"one of two steps recovered": {func(h *history) {
			h.start(nil).step("s1", events.StepFailed, "", nil).step("s1", events.StepCompleted, "ok", nil).end(false, nil)
		}, "Run failed"},
		"no error is known": {func(h *history) { h.start(nil).end(false, nil) }, "Run failed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t, "RESOLVE")
			test.history(h)
			s := new(rules.State)
			apply(t, s, h.list...)
			release(t, s)
			i := s.Issues()[0]
			if i.Status != rules.Blocked || i.Reason != test.reason || !strings.HasSuffix(i.Description, "\n\nLatest failure: "+test.reason) {
				t.Errorf("got %s, %q, %q, want %q", i.Status, i.Reason, i.Description, test.reason)
			}
		})
	}
}
