package ledger

import (
	"context"
	"path"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Keep says how long the payloads of a class of records are kept.
type Keep struct {
	Kind string        // pattern of kinds, as of [path.Match]: "tool.*"
	Age  time.Duration // since the server stored the record; 0: for ever
}

// Expired returns what is older than it is to be kept, as orders to prune: one for
// each rule that has something, without an id and who gives it. The first rule
// whose pattern fits a record's kind is its rule; what none fits is kept. What a
// hold covers is not among it, and neither is what is never destroyed.
func (r *Reader) Expired(ctx context.Context, rules []Keep, now time.Time) (orders []Order, err error) {
	found := make([]LeafRanges, len(rules))
	var c Checkpoint
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		if c, err = newest(conn); err != nil {
			return err
		}
		holds, err := loadHolds(conn)
		if err != nil {
			return err
		}
		trees, err := treesOf(conn, holds)
		if err != nil {
			return err
		}
		return queryOrdered(conn, " WHERE l.stored < ?1 AND x.leaf IS NULL ORDER BY l.leaf", func(t ordered) error {
			rule := ruleOf(rules, t, now)
			if rule < 0 || t.leaf >= c.Size {
				return nil
			}
			held, err := isHeld(conn, holds, trees, t)
			if err == nil && !held {
				found[rule].Add(t.leaf)
			}
			return err
		}, now.UnixNano())
	})
	if err != nil {
		return nil, err
	}
	for i, leaves := range found {
		if len(leaves) > 0 {
			orders = append(orders, Order{
				Tenant: c.Tenant, Action: events.AuditPrune, Time: now.UTC(), Size: c.Size, Root: c.Root, Leaves: leaves,
				Selection: OrderSelection{Kind: rules[i].Kind, To: now.Add(-rules[i].Age).UTC()},
			})
		}
	}
	return orders, nil
}

// treesOf tells of each hold whether it means this tree.
func treesOf(conn *sqlite.Conn, holds []Order) (trees []bool, err error) {
	trees = make([]bool, len(holds))
	for i, h := range holds {
		if trees[i], err = isTreeOf(conn, h); err != nil {
			break
		}
	}
	return trees, err
}

// ruleOf returns the number of the rule by which a record is to go, -1 when it stays.
func ruleOf(rules []Keep, t ordered, now time.Time) int {
	if !t.removable() {
		return -1
	}
	i := slices.IndexFunc(rules, func(k Keep) bool {
		ok, err := path.Match(k.Kind, t.kind)
		return ok && err == nil
	})
	if i < 0 || rules[i].Age <= 0 || t.stored == 0 || t.stored >= now.Add(-rules[i].Age).UnixNano() {
		return -1
	}
	return i
}

// isHeld reports whether a hold covers a record whose bytes are there.
func isHeld(conn *sqlite.Conn, holds []Order, trees []bool, t ordered) (bool, error) {
	for i, h := range holds {
		if h.covers(Order{}, t, trees[i]) {
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
