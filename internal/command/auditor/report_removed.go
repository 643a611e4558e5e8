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
	l.rules(r)
	others := func(o verifier.OrderAt) bool {
		return o.Action != events.AuditKey && o.Action != events.AuditAcknowledge && o.Rule == "" && !ledger.IsIssuerOrder(o.Action)
	}
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
		if o.Effect != ledger.EffectHeld && o.Effect != ledger.EffectFloor && o.Effect != ledger.EffectExpired {
			continue
		}
		if n++; n > maxLines {
			break
		}
		l.print("", "  ", fmt.Sprintf("leaf %d: the order of %s to %s %s was stopped by %s", o.Leaf, giver(o), o.Action, selectionText(o.Selection), stopper(o.Effect)))
	}
}

func printUnclean(l lines, r verifier.Redacted) {
	if r.Unclean {
		l.print("", "  ", "erased text is not yet removed from the ledger's files: repeat auditor erase, or start the service")
	}
}

func stopper(e ledger.Effect) string {
	switch e { //nolint:exhaustive // other effects stop no order
	case ledger.EffectFloor:
		return "the retention floor"
	case ledger.EffectExpired:
		return "an approval that came too late"
	}
	return "a hold"
}

func (l lines) rules(r verifier.Redacted) {
	label := "Rules"
	for i, o := range r.Rules {
		if l.more(i, len(r.Rules)) {
			break
		}
		l.print(label, "", ruleText(o))
		label = ""
	}
	label = "Waiting"
	for i, o := range r.Waiting {
		if l.more(i, len(r.Waiting)) {
			break
		}
		what := string(o.Action) + " " + selectionText(o.Selection)
		if o.Rule != "" {
			what = "set " + o.Rule
		} else if o.Hold != "" {
			what = "lift hold " + o.Hold
		}
		l.print(label, "", fmt.Sprintf("leaf %d: %s is not done, and waits for a second person until %s, by %s: %s", o.Leaf, what, o.Expires.Format(time.RFC3339), giver(o), o.Reason))
		label = ""
	}
}

func ruleText(o verifier.OrderAt) string {
	state := "ended"
	if o.InForce {
		state = "in force"
	}
	text := fmt.Sprintf("leaf %d: %s, %s, by %s", o.Leaf, o.Rule, state, giver(o))
	if o.Approver != "" {
		text += ", approved by " + o.Approver
	}
	return text + ": " + o.Reason
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
	if o.Approver != "" && o.Rule == "" {
		who += ", approved by " + o.Approver
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
