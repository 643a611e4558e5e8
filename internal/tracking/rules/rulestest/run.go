package rulestest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Outcome contains the issues and decisions that the rules create for a history.
type Outcome struct {
	Issues    []Issue    `json:"issues"`
	Decisions []Decision `json:"decisions"`
}

// Issue is an issue in an [Outcome], in the JSON format of the command whatif.
type Issue struct {
	ID          string       `json:"id"`
	Tenant      string       `json:"tenant"`
	Kind        string       `json:"kind"`
	Title       string       `json:"title"`
	Status      string       `json:"status"`
	Labels      []string     `json:"labels"`
	Events      []string     `json:"events"` // ids of the occurrences by event time
	Transitions []Transition `json:"transitions"`
	Links       []rules.Link `json:"links"`
}

// Transition is a status change. The first transition is the creation.
type Transition struct {
	To    string    `json:"to"`
	At    time.Time `json:"at"`
	Event string    `json:"event"`
}

// Decision is a decision in an [Outcome], in the JSON format of the command whatif.
type Decision struct {
	Event  string   `json:"event"`
	Action string   `json:"action"`
	Rule   string   `json:"rule"`
	Reason string   `json:"reason"`
	Issues []string `json:"issues"`
}

// Events returns the events of a list of deliveries as a client would send them. An edit needs the
// id of the edited issue, so Events applies the rules with the configuration c to the earlier
// events.
func Events(tb testing.TB, list []Delivery, c rules.Config) []events.Event {
	tb.Helper()
	r := newRunner(tb, c)
	s := rules.NewState(r.store)
	var plain []events.Event
	for _, d := range list {
		if d.Restart {
			continue
		}
		plain = append(plain, r.resolved(d))
		r.apply(s, d)
	}
	return plain
}

// Run applies the rules to a list of deliveries and returns the issues and decisions. It continues
// with a new State at each restart. If batch is not nil, it also does so after batch() deliveries.
func Run(tb testing.TB, list []Delivery, c rules.Config, batch func() int) Outcome {
	tb.Helper()
	r := newRunner(tb, c)
	s, left := rules.NewState(r.store), 0
	for _, d := range list {
		if left--; d.Restart || (batch != nil && left < 0) {
			r.save(s)
			s = rules.NewState(r.store)
			if batch != nil {
				left = batch() - 1
			}
		}
		if d.Restart {
			continue
		}
		r.apply(s, d)
	}
	decisions, err := s.Release(c)
	if err != nil {
		tb.Fatalf("release: %v", err)
	}
	r.take(decisions)
	r.save(s)
	r.reconcile()
	r.complete(list)
	return r.outcome()
}

type issue struct {
	Issue
	created time.Time
	times   map[string]time.Time // by event
}

type runner struct {
	tb        testing.TB
	config    rules.Config
	store     *memory
	issues    map[string]*issue
	stored    map[string]stored
	decisions []rules.Decision
}

func newRunner(tb testing.TB, c rules.Config) *runner {
	tb.Helper()
	return &runner{tb: tb, config: c, store: newMemory(), issues: make(map[string]*issue), stored: make(map[string]stored)}
}

func (r *runner) apply(s *rules.State, d Delivery) {
	r.tb.Helper()
	e := r.resolved(d)
	if err := e.Normalize(); err != nil {
		r.tb.Fatalf("event %s: %v", e.ID, err)
	}
	decisions, err := s.Apply(e, r.config)
	if err != nil {
		r.tb.Fatalf("apply %s: %v", e.ID, err)
	}
	r.take(decisions)
}

func (r *runner) resolved(d Delivery) events.Event {
	r.tb.Helper()
	e := d.Event
	if d.IssueOf == "" {
		return e
	}
	edit, err := events.Payload[events.IssueEditedData](e)
	if err != nil {
		r.tb.Fatal(err)
	}
	edit.Issue = r.covering(e.Tenant, d.IssueOf)
	if err := e.SetData(edit); err != nil {
		r.tb.Fatal(err)
	}
	return e
}

func (r *runner) covering(tenant, event string) string {
	for _, id := range slices.Sorted(maps.Keys(r.issues)) {
		if i := r.issues[id]; i.Tenant == tenant && !i.times[event].IsZero() {
			return id
		}
	}
	return "ht-none"
}

func (r *runner) take(decisions []rules.Decision) {
	r.tb.Helper()
	r.decisions = append(r.decisions, decisions...)
	for _, d := range decisions {
		for _, e := range d.Effects {
			r.effect(d, e)
		}
		for _, id := range d.Occurs {
			if i := r.issues[id]; i != nil {
				i.times[d.Event] = d.Time
				continue
			}
			r.tb.Errorf("event %s is an occurrence of %s, which does not exist", d.Event, id)
		}
	}
}

func (r *runner) effect(d rules.Decision, e rules.Effect) {
	r.tb.Helper()
	i := r.issues[e.ID]
	if e.Op == rules.OpCreate {
		if i != nil {
			r.tb.Errorf("event %s creates %s again", d.Event, e.ID)
			return
		}
		i = &issue{Issue: Issue{ID: e.ID, Tenant: d.Tenant}, created: e.At, times: make(map[string]time.Time)}
		r.issues[e.ID] = i
	}
	if i == nil {
		r.tb.Errorf("event %s: %s of %s, which does not exist", d.Event, e.Op, e.ID)
		return
	}
	switch e.Op {
	case rules.OpCreate, rules.OpTransition:
		if n := len(i.Transitions); n > 0 && i.Transitions[n-1].To == string(e.To) {
			r.tb.Errorf("event %s: %s goes from %s to %s", d.Event, e.ID, e.To, e.To)
		}
		i.Transitions = append(i.Transitions, Transition{To: string(e.To), At: e.At, Event: d.Event})
	case rules.OpLink:
		i.Links = append(i.Links, *e.Link)
	case rules.OpLabel:
		if slices.Contains(i.Labels, e.Label) {
			r.tb.Errorf("event %s labels %s %q again", d.Event, e.ID, e.Label)
		}
		i.Labels = append(i.Labels, e.Label)
	case rules.OpNote, rules.OpDescribe, rules.OpErase:
	}
}

func (r *runner) save(s *rules.State) {
	r.tb.Helper()
	for key, data := range r.store.apply(s.Changes()) {
		var is stored
		if err := json.Unmarshal(data, &is); err != nil {
			r.tb.Fatal(err)
		}
		r.stored[key.ID] = is
	}
}

type stored struct {
	rules.Issue
	Labels []string `json:"labels"`
}

func (r *runner) reconcile() {
	r.tb.Helper()
	for id, is := range r.stored {
		i := r.issues[id]
		if i == nil {
			r.tb.Errorf("issue %s is stored, but no effect created it", id)
			continue
		}
		i.Kind, i.Title, i.Status = string(is.Kind), is.Title, string(is.Status)
		for _, l := range is.Links {
			if !slices.Contains(i.Links, l) {
				i.Links = append(i.Links, l)
			}
		}
		for _, l := range is.Labels {
			if !slices.Contains(i.Labels, l) {
				r.tb.Errorf("issue %s is stored with the label %q, which no effect gave it", id, l)
			}
		}
	}
	for _, i := range r.issues {
		if last := i.Transitions[len(i.Transitions)-1].To; last != i.Status {
			r.tb.Errorf("issue %s is %q, and its last transition is to %s", i.ID, i.Status, last)
		}
	}
}

func (r *runner) complete(list []Delivery) {
	r.tb.Helper()
	count := make(map[[2]string]int)
	for _, d := range r.decisions {
		count[[2]string{d.Tenant, d.Event}]++
	}
	for _, d := range list {
		if d.Restart {
			continue
		}
		n := count[[2]string{d.Event.Tenant, d.Event.ID}]
		if considered := rules.Considered(d.Event.Kind()); n > 1 || (considered && n == 0) {
			r.tb.Errorf("event %s has %d decisions", d.Event.ID, n)
		}
	}
}

func (r *runner) outcome() Outcome {
	var o Outcome
	for _, d := range r.decisions {
		o.Decisions = append(o.Decisions, Decision{d.Event, string(d.Action), d.Rule, d.Reason, d.Issues})
	}
	all := slices.SortedFunc(maps.Values(r.issues), func(a, b *issue) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), a.created.Compare(b.created), cmp.Compare(a.ID, b.ID))
	})
	for _, i := range all {
		i.Events = slices.SortedFunc(maps.Keys(i.times), func(a, b string) int {
			return cmp.Or(i.times[a].Compare(i.times[b]), cmp.Compare(a, b))
		})
		o.Issues = append(o.Issues, i.Issue)
	}
	return o
}
