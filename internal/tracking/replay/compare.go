package replay

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"iter"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// Comparison lists the differences between the results of two configurations. For each kind of
// difference, it contains a count and examples.
type Comparison struct {
	Events int          `json:"events"`
	Config Pair[string] `json:"config"` // hashes
	Issues Pair[int]    `json:"issues"` // counts

	Gained    Differences[IssueDifference]    `json:"gained"`    // issues only under the new configuration
	Lost      Differences[IssueDifference]    `json:"lost"`      // issues only under the old configuration
	Changed   Differences[IssueDifference]    `json:"changed"`   // issues under both, with different content
	Decisions Differences[DecisionDifference] `json:"decisions"` // decisions with different actions, rules or issues
}

// A Pair contains a value under today's configuration and the same value under the new one.
type Pair[T any] struct {
	Base T `json:"base"`
	New  T `json:"new"`
}

// Differences counts one kind of difference between two replays. Examples contains only the first
// ones.
type Differences[T any] struct {
	Count    int `json:"count"`
	Examples []T `json:"examples"`
}

func (d *Differences[T]) add(limit int, example func() (T, error)) error {
	if d.Count++; d.Count > limit {
		return nil
	}
	one, err := example()
	d.Examples = append(d.Examples, one)
	return err
}

// IssueDifference describes an issue that differs between two replays, or that only one replay has
// created.
type IssueDifference struct {
	ID     string     `json:"id"`
	Tenant string     `json:"tenant"`
	Kind   rules.Kind `json:"kind"`
	Title  string     `json:"title"`
	// The values in Status, Events and Transitions are empty for a replay that has not created the
	// issue.
	Status      Pair[rules.Status] `json:"status"`
	Events      Pair[int]          `json:"events"`
	Transitions Pair[int]          `json:"transitions"`
	// Decision is set if only one of the two replays has created the issue. It contains both
	// decisions on the event that created the issue.
	Decision *Pair[Decision] `json:"decision,omitempty"`
}

// DecisionDifference describes an event for which two replays have made different decisions.
type DecisionDifference struct {
	Event  string `json:"event"`
	Tenant string `json:"tenant"`
	Pair[Decision]
}

type imprint struct {
	rules.Issue
	digest [sha256.Size]byte // hash of the issue in JSON without the title
}

func (a imprint) compare(b imprint) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID))
}

func (a imprint) same(b imprint) bool {
	return a.digest == b.digest && (a.Title == b.Title || a.Title == store.Erased || b.Title == store.Erased)
}

func imprints(conn *sqlite.Conn, tenant string) iter.Seq2[imprint, error] {
	return sequence(func(do func(imprint) error) error {
		return store.EachIssue(conn, tenant, store.ByID, func(i rules.Issue) error {
			p := imprint{Issue: i}
			i.Title = ""
			var err error
			if p.digest, err = digest(conn, i); err != nil {
				return err
			}
			return do(p)
		})
	})
}

var errStop = errors.New("enough rows")

func sequence[T any](each func(do func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := each(func(v T) error {
			if !yield(v, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			var none T
			yield(none, err)
		}
	}
}

// merge calls do for each pair of equal values. A value that only one sequence contains is paired
// with nil. Both sequences must be sorted.
func merge[T any](as, bs iter.Seq2[T, error], compare func(a, b T) int, do func(a, b *T) error) error {
	nextA, stopA := iter.Pull2(as)
	defer stopA()
	nextB, stopB := iter.Pull2(bs)
	defer stopB()
	a, errA, okA := nextA()
	b, errB, okB := nextB()
	for okA || okB {
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		var order int
		switch {
		case !okA:
			order = 1
		case !okB:
			order = -1
		default:
			order = compare(a, b)
		}
		var left, right *T
		if order <= 0 {
			left = new(a)
		}
		if order >= 0 {
			right = new(b)
		}
		if err := do(left, right); err != nil {
			return err
		}
		if left != nil {
			a, errA, okA = nextA()
		}
		if right != nil {
			b, errB, okB = nextB()
		}
	}
	return nil
}

// Compare compares two replays of the same history. For each kind of difference, the result
// contains at most the given number of examples.
func Compare(base, changed *Replay, examples int) (Comparison, error) {
	c := Comparison{
		Events: changed.events, Config: Pair[string]{base.config.Hash(), changed.config.Hash()},
		Gained: none[IssueDifference](), Lost: none[IssueDifference](), Changed: none[IssueDifference](),
		Decisions: none[DecisionDifference](),
	}
	both := comparing{base.conn, changed.conn}
	err := merge(imprints(base.conn, ""), imprints(changed.conn, ""), imprint.compare, func(a, b *imprint) error {
		return both.issue(&c, examples, a, b)
	})
	if err != nil {
		return Comparison{}, err
	}
	err = merge(decisions(base.conn), decisions(changed.conn), compareDecisions, func(a, b *rules.Decision) error {
		if a != nil && b != nil && a.Action == b.Action && a.Rule == b.Rule && slices.Equal(a.Issues, b.Issues) {
			return nil
		}
		return c.Decisions.add(examples, func() (DecisionDifference, error) {
			d := DecisionDifference{Event: cmp.Or(a, b).Event, Tenant: cmp.Or(a, b).Tenant}
			if a != nil {
				d.Base = decisionOf(*a)
			}
			if b != nil {
				d.New = decisionOf(*b)
			}
			return d, nil
		})
	})
	return c, err
}

func none[T any]() Differences[T] { return Differences[T]{Examples: []T{}} }

func decisions(conn *sqlite.Conn) iter.Seq2[rules.Decision, error] {
	return sequence(func(do func(rules.Decision) error) error { return eachDecision(conn, byEvent, do) })
}

func compareDecisions(a, b rules.Decision) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Source, b.Source))
}

type comparing struct{ base, changed *sqlite.Conn }

func (both comparing) issue(c *Comparison, examples int, a, b *imprint) error {
	if a != nil {
		c.Issues.Base++
	}
	if b != nil {
		c.Issues.New++
	}
	kind := &c.Changed
	switch {
	case a == nil:
		kind = &c.Gained
	case b == nil:
		kind = &c.Lost
	case a.same(*b):
		return nil
	}
	return kind.add(examples, func() (IssueDifference, error) { return both.example(a, b) })
}

func (both comparing) example(a, b *imprint) (IssueDifference, error) {
	one := cmp.Or(b, a)
	d := IssueDifference{ID: one.ID, Tenant: one.Tenant, Kind: one.Kind, Title: one.Title}
	made := ""
	for _, side := range []struct {
		conn          *sqlite.Conn
		at            *imprint
		status        *rules.Status
		events, moves *int
	}{
		{both.base, a, &d.Status.Base, &d.Events.Base, &d.Transitions.Base},
		{both.changed, b, &d.Status.New, &d.Events.New, &d.Transitions.New},
	} {
		if side.at == nil {
			continue
		}
		*side.status, *side.events = side.at.Status, side.at.Count
		list, err := transitions(side.conn, one.Tenant, one.ID)
		if err != nil {
			return d, err
		}
		*side.moves = len(list)
		if len(list) > 0 {
			made = list[0].Event
		}
	}
	if a != nil && b != nil || made == "" {
		return d, nil
	}
	var err error
	d.Decision, err = both.decision(one.Tenant, made)
	return d, err
}

func (both comparing) decision(tenant, event string) (*Pair[Decision], error) {
	var p Pair[Decision]
	const query = "SELECT record FROM decision WHERE tenant = ? AND event = ? AND record IS NOT NULL ORDER BY seq DESC"
	err := errors.Join(
		store.Records(both.base, func(d rules.Decision) error { p.Base = decisionOf(d); return nil }, query, tenant, event),
		store.Records(both.changed, func(d rules.Decision) error { p.New = decisionOf(d); return nil }, query, tenant, event))
	return &p, err
}
