package auditor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (l lines) redacted(r verifier.Redacted) {
	others := func(o verifier.OrderAt) bool { return o.Action != events.AuditKey } // printed by keys
	if r.Erased+r.Pruned == 0 && !slices.ContainsFunc(r.Orders, others) {
		return
	}
	facts := []string{
		fmt.Sprintf("%s erased%s", thousands(r.Erased), givers(r.Orders, events.AuditErase)),
		fmt.Sprintf("%s pruned", thousands(r.Pruned)),
	}
	if !r.Part {
		facts = append(facts, plural(int64(r.Holds), "hold", "holds"))
	}
	l.print("Redacted", "", strings.Join(facts, " · "))
	n := 0
	for _, o := range r.Orders {
		if o.Effect != ledger.EffectHeld {
			continue
		}
		if n++; n > maxLines {
			break
		}
		l.print("", "  ", fmt.Sprintf("leaf %d: the order of %s to %s %s was stopped by a hold", o.Leaf, giver(o), o.Action, selectionText(o.Selection)))
	}
}

func givers(orders []verifier.OrderAt, action events.AuditAction) string {
	var all []string
	for _, o := range orders {
		if who := giver(o); o.Action == action && o.Records > 0 && !slices.Contains(all, who) {
			all = append(all, who)
		}
	}
	if len(all) == 0 {
		return ""
	}
	if len(all) > maxListed {
		return fmt.Sprintf(" (%s; and %d more)", strings.Join(all[:maxListed], "; "), len(all)-maxListed)
	}
	return " (" + strings.Join(all, "; ") + ")"
}

func giver(o verifier.OrderAt) string {
	who := o.By + " " + o.Time.Format(time.DateOnly)
	if o.Ticket != "" {
		who = "ticket " + o.Ticket + ", " + who
	}
	return who
}

type removedCount map[ledger.Removal]int

func (c removedCount) add(r ledger.Removal) { c[r]++ }

func (c removedCount) warn(ctx context.Context, logger *slog.Logger, tenant string) {
	for _, r := range slices.SortedFunc(maps.Keys(c), func(a, b ledger.Removal) int { return cmp.Compare(a.Order, b.Order) }) {
		logger.WarnContext(ctx, "erased or pruned events left out", "tenant", tenant,
			"events", c[r], "word", string(r.Word), "order_leaf", r.Order)
	}
}
