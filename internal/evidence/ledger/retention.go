package ledger

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RetentionRule says how long the payloads of a class of records are kept.
type RetentionRule struct {
	Kind string        // pattern of kinds, as of [path.Match]: "tool.*"
	Age  time.Duration // since the server stored the record; 0: for ever
}

// String returns the rule as flags have it: "tool.*=90d", "issue.*=forever".
func (r RetentionRule) String() string {
	const day = 24 * time.Hour
	switch {
	case r.Age == 0:
		return r.Kind + "=forever"
	case r.Age%day == 0:
		return r.Kind + "=" + strconv.FormatInt(int64(r.Age/day), 10) + "d"
	}
	return r.Kind + "=" + r.Age.String()
}

// Expired returns what is older than it is to be kept, as orders to prune: one for
// the first rule and one for each kind of the others, if they have something,
// without an id and who gives it. The first rule
// whose pattern fits a record's kind is its rule; what none fits is kept. What a
// hold covers is not among it, and neither is what is never destroyed.
func (r Orders) Expired(ctx context.Context, rules []RetentionRule, now time.Time) (orders []Order, err error) {
	found := make(expired)
	var c Checkpoint
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		if c, err = newest(conn); err != nil {
			return err
		}
		holds, err := LoadHolds(conn)
		if err != nil {
			return err
		}
		trees, err := treesOf(conn, holds)
		if err != nil {
			return err
		}
		return queryOrdered(conn, " WHERE l.stored < ?1 AND x.leaf IS NULL ORDER BY l.leaf", func(t Target) error {
			rule := ruleOf(rules, t, now)
			if rule < 0 || t.Leaf >= c.Size {
				return nil
			}
			held, err := isHeld(conn, holds, trees, t)
			if err == nil && !held {
				found.add(rule, t)
			}
			return err
		}, now.UnixNano())
	})
	if err != nil {
		return nil, err
	}
	for _, class := range slices.SortedFunc(maps.Keys(found), expiredClass.compare) {
		rule := rules[class.rule]
		orders = append(orders, Order{
			Tenant: c.Tenant, Action: events.AuditPrune, Time: now.UTC(), Size: c.Size, Root: c.Root, Leaves: *found[class],
			Reason: rule.String(), Selection: OrderSelection{Kind: class.pattern(rule), To: now.Add(-rule.Age).UTC()},
		})
	}
	return orders, nil
}

// expiredClass are the records that one order is about. The first rule's pattern
// says which kinds those are. That of another one fits kinds, too, that a rule
// before it keeps, and who goes by an order's words would not know: there each kind
// has an order of its own.
type expiredClass struct {
	rule int
	kind string // empty: all that the rule is for
}

// expired are the leaves of each class.
type expired map[expiredClass]*LeafRanges

func (e expired) add(rule int, t Target) {
	class := expiredClass{rule: rule}
	if rule > 0 {
		class.kind = t.Kind
	}
	if e[class] == nil {
		e[class] = new(LeafRanges)
	}
	e[class].Add(t.Leaf)
}

func (c expiredClass) compare(o expiredClass) int {
	return cmp.Or(cmp.Compare(c.rule, o.rule), cmp.Compare(c.kind, o.kind))
}

// pattern returns what fits the kinds of the class, and no others.
func (c expiredClass) pattern(rule RetentionRule) string {
	if c.rule == 0 {
		return rule.Kind
	}
	return quoteMeta.Replace(c.kind)
}

// quoteMeta has [path.Match] take every character for itself.
var quoteMeta = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// treesOf tells of each hold whether it means this tree.
func treesOf(conn *sqlite.Conn, holds []Order) (trees []bool, err error) {
	trees = make([]bool, len(holds))
	for i, h := range holds {
		if trees[i], err = IsTreeOf(conn, h); err != nil {
			break
		}
	}
	return trees, err
}

// ruleOf returns the number of the rule by which a record is to go, -1 when it stays.
func ruleOf(rules []RetentionRule, t Target, now time.Time) int {
	if !t.Removable() {
		return -1
	}
	i := slices.IndexFunc(rules, func(r RetentionRule) bool {
		ok, err := path.Match(r.Kind, t.Kind)
		return ok && err == nil
	})
	if i < 0 || rules[i].Age <= 0 || t.Stored == 0 || t.Stored >= now.Add(-rules[i].Age).UnixNano() {
		return -1
	}
	return i
}

// isHeld reports whether a hold covers a record whose bytes are there.
func isHeld(conn *sqlite.Conn, holds []Order, trees []bool, t Target) (bool, error) {
	for i, h := range holds {
		if h.Covers(Order{}, t, trees[i]) {
			return true, nil
		}
		if h.Selection.User != "" {
			if ok, err := selects(conn, h.Selection, t); ok || err != nil {
				return ok, err
			}
		}
	}
	return false, nil
}
