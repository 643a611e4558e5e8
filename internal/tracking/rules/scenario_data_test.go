package rules_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

// record is an issue of the tracker of Beads, or an event of Gas Town.
type record struct {
	ID          any       `json:"id"` // number in events
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Created     time.Time `json:"created_at"`
	CreatedBy   string    `json:"created_by"`
	Level       string    `json:"lvl"`
	Logger      string    `json:"logger"`
	Message     string    `json:"message"`
	TS          time.Time `json:"ts"`

	IssueID  string `json:"issue_id"`
	Type     string `json:"event_type"`
	NewValue string `json:"new_value"`
}

func records(t *testing.T, elem ...string) []record {
	t.Helper()
	f, err := os.Open(realdata.Path(t, append([]string{"orchestrators"}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

type recording struct {
	start  time.Time
	events []rulestest.Event
}

func (h *recording) add(at time.Time, e rulestest.Event) {
	if h.start.IsZero() {
		h.start = at
	}
	e.T, e.Tenant, e.ID = at.Sub(h.start).Seconds(), "town", fmt.Sprintf("e-%06d", len(h.events))
	h.events = append(h.events, e)
}

func (h *recording) fold(t *testing.T) (o rulestest.Outcome, kinds map[string]int) {
	t.Helper()
	slices.SortStableFunc(h.events, func(a, b rulestest.Event) int {
		return int(min(1, max(-1, 1e6*(a.T-b.T))))
	})
	o = rulestest.Run(t, rulestest.DealFrom(t, rulestest.Scenario{Events: h.events}, h.start), rules.DefaultConfig(), nil)
	kinds = make(map[string]int)
	for _, i := range o.Issues {
		kinds[i.Kind]++
	}
	return o, kinds
}

// The agents of Beads left one issue per patrol, although all patrols completed.
func TestRealSpam_Patrols(t *testing.T) {
	var h recording
	all := records(t, "beads", "issues.sample.jsonl")
	slices.SortStableFunc(all, func(a, b record) int { return a.Created.Compare(b.Created) })
	patrols := 0
	for _, r := range all {
		name, ok := strings.CutPrefix(r.Title, "Digest: ")
		if !ok {
			continue
		}
		patrols++
		h.add(r.Created, rulestest.Event{Run: fmt.Sprint(r.ID), Ev: "step", Type: "TRIAGE", Role: name, Step: name, Status: "completed", Out: r.Description})
		h.add(r.Created.Add(time.Second), rulestest.Event{Run: fmt.Sprint(r.ID), Ev: "end", Type: "TRIAGE", OK: true, Out: r.Description})
	}
	o, kinds := h.fold(t)
	t.Logf("%d patrols, of which Beads has an issue each: %d issues %v", patrols, len(o.Issues), kinds)
	if patrols < 400 || len(o.Issues) > patrols/100 {
		t.Errorf("got %d issues for %d patrols", len(o.Issues), patrols)
	}
}

var failureTitle = regexp.MustCompile(`(?i)^--help$|test failure|build failure|^Pre-existing|fails`)

// The agents of Gas Town reported the same failures repeatedly.
func TestRealSpam_Reports(t *testing.T) {
	var h recording
	all := records(t, "gastown", "issues.jsonl")
	slices.SortStableFunc(all, func(a, b record) int { return a.Created.Compare(b.Created) })
	reports, titles := 0, make(map[string]bool)
	for _, r := range all {
		if !failureTitle.MatchString(r.Title) {
			continue
		}
		reports++
		titles[r.Title] = true
		h.add(r.Created, rulestest.Event{
			Run: fmt.Sprint(r.ID), Ev: "step", Type: "REVIEW", Role: "VALIDATOR", Step: "VALIDATOR", Status: "failed", Err: r.Title, Meta: map[string]any{"complexity": 1.0},
		})
	}
	o, kinds := h.fold(t)
	t.Logf("%d reports of failures with %d titles: %d issues %v", reports, len(titles), len(o.Issues), kinds)
	if reports < 60 || len(o.Issues) > len(titles)+1 || len(o.Issues) < 5 {
		t.Errorf("got %d issues for %d reports", len(o.Issues), reports)
	}
}

// In the log of Gas Town, agents take a work item, release it, take it again and close it. All
// these runs have at most one issue.
func TestRealSpam_Work(t *testing.T) {
	var h recording
	runs, failures, items := make(map[string]int), 0, make(map[string]bool)
	running := make(map[string]bool)
	for _, r := range records(t, "gastown", "events.part1.jsonl") {
		var to struct {
			Status string `json:"status"`
		}
		if r.Type == "status_changed" {
			_ = json.Unmarshal([]byte(r.NewValue), &to) // some contain no object
		}
		item := r.IssueID
		e := rulestest.Event{Run: fmt.Sprintf("%s.%d", item, runs[item]), Type: "RESOLVE", Meta: map[string]any{"workItem": item}}
		switch {
		case to.Status == "hooked" && !running[item]:
			runs[item]++
			e.Run = fmt.Sprintf("%s.%d", item, runs[item])
			running[item], items[item], e.Ev = true, true, "start"
		case to.Status == "open" && running[item]:
			failures++
			running[item], e.Ev, e.Err = false, "end", "let go"
		case r.Type == "closed" && running[item]:
			running[item], e.Ev, e.OK, e.Out = false, "end", true, r.NewValue
		default:
			continue
		}
		h.add(r.Created, e)
	}
	o, kinds := h.fold(t)
	t.Logf("%d runs on %d work items, %d of them failed: %d issues %v", len(h.events), len(items), failures, len(o.Issues), kinds)
	if kinds["tracking"] > len(items) || kinds["tracking"] == 0 {
		t.Errorf("got %d tracking issues for %d work items", kinds["tracking"], len(items))
	}
}

// Each error or warning of an Amplifier log becomes a failing session.
func TestRealSpam_Log(t *testing.T) {
	var h recording
	failures := 0
	for n, r := range records(t, "amplifier", "amplifier.log.jsonl") {
		if r.Level != "ERROR" && r.Level != "WARNING" {
			continue
		}
		failures++
		h.add(r.TS, rulestest.Event{
			Run: fmt.Sprintf("s%d", n), Ev: "step", Type: "TRIAGE", Role: r.Logger, Step: r.Logger, Status: "failed", Err: r.Message, Meta: map[string]any{"complexity": 1.0},
		})
	}
	o, kinds := h.fold(t)
	t.Logf("%d errors and warnings: %d issues %v", failures, len(o.Issues), kinds)
	if failures == 0 || len(o.Issues) > failures/2 {
		t.Errorf("got %d issues for %d errors and warnings", len(o.Issues), failures)
	}
}
