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

// RetentionRule sets how long the ledger retains the payloads of events of some kinds.
type RetentionRule struct {
	Kind string        // pattern, as in [path.Match], such as "tool.*"
	Age  time.Duration // time since the server stored the record; 0 retains it permanently
}

// String formats the rule as in flags, such as "tool.*=90d" or "issue.*=forever".
func (r RetentionRule) String() string {
	if r.Age == 0 {
		return r.Kind + "=forever"
	}
	return r.Kind + "=" + formatAge(r.Age)
}

func formatAge(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}

// Expired returns orders that prune the records whose retention time has ended. For each record,
// the first matching rule counts. The caller must set the id and the author of each order.
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
		if rules, err = least(conn, rules); err != nil {
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

// floorMargin is added to the retention floor, which is the minimum retention, because the clocks
// of server and auditor can differ.
const floorMargin = time.Minute

// least raises the ages in rules to the minimum retention, because the ledger refuses to prune
// younger records.
func least(conn *sqlite.Conn, rules []RetentionRule) ([]RetentionRule, error) {
	in, err := LoadRules(conn)
	if err != nil || in.Floor == 0 {
		return rules, err
	}
	rules = slices.Clone(rules)
	for i, r := range rules {
		if r.Age > 0 {
			rules[i].Age = max(r.Age, in.Floor+floorMargin)
		}
	}
	return rules, nil
}

type expiredClass struct {
	rule int
	kind string // empty for the first rule
}

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

func (c expiredClass) pattern(rule RetentionRule) string {
	if c.rule == 0 {
		return rule.Kind
	}
	return quoteMeta.Replace(c.kind)
}

var quoteMeta = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

func treesOf(conn *sqlite.Conn, holds []Order) (trees []bool, err error) {
	trees = make([]bool, len(holds))
	for i, h := range holds {
		if trees[i], err = IsTreeOf(conn, h); err != nil {
			break
		}
	}
	return trees, err
}

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
