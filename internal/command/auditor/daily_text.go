package auditor

import (
	"fmt"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/daily"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// DailyText returns the text of a report. Equal reports give equal texts.
func DailyText(rep daily.Report) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Report of tenant %s, %s\n\n", oneLine(termtext.Printable(rep.Tenant)), periodText(rep.From, rep.To))
	l, verdict := lines{out: &out}, rep.Verdict
	if at := verdict.AsOf; at != nil {
		l.print("As of", "", fmt.Sprintf("%s, stream position %s", at.Time.Format(time.RFC3339), thousands(int64(at.Position))))
		verdict.AsOf = nil
	}
	PrintReport(&out, verdict)
	out.WriteString("\n")
	if !rep.Ended {
		l.print("Not ended", "", "the checkpoint is older than the end of that time, so later records may follow")
	}
	if rep.OpenCount > len(rep.Verdict.Open) || rep.UnsealedCount > len(rep.Verdict.Unsealed) || rep.GapCount > len(rep.Verdict.Gaps) {
		l.print("In all", "", fmt.Sprintf("%s, %s open, %s unsealed", plural(int64(rep.GapCount), "gap", "gaps"),
			thousands(int64(rep.OpenCount)), thousands(int64(rep.UnsealedCount))))
	}
	if f := rep.Facts; f != nil {
		l.facts(*f)
		l.orders(f.Orders)
		l.denials(*f)
		l.uses(*f)
	} else {
		l.print("Records", "", "not counted, because the ledger is INVALID")
	}
	return out.String()
}

func periodText(from, to time.Time) string {
	if from.Equal(from.Truncate(day)) && to.Equal(from.Add(day)) {
		return from.Format(time.DateOnly) + " (UTC)"
	}
	return from.Format(time.RFC3339) + " to " + to.Format(time.RFC3339)
}

func (l lines) facts(f daily.Facts) {
	l.print("Records", "", fmt.Sprintf("%s, of them %s", plural(f.Records, "record", "records"), plural(f.Events, "event", "events")))
	for i, k := range f.Kinds {
		if l.more(i, len(f.Kinds)) {
			break
		}
		name := string(k.Kind)
		if k.Class != ledger.ClassEvent {
			name = strings.TrimSpace(string(k.Class) + " " + name)
		}
		l.print("", "  ", fmt.Sprintf("%-20s %8s", name, thousands(k.Count)))
	}
	if f.OtherKinds > 0 {
		l.print("", "  ", fmt.Sprintf("%-20s %8s", "other kinds", thousands(f.OtherKinds)))
	}
	finished := fmt.Sprintf("%s succeeded, %s failed", plural(f.Finished.Succeeded, "run", "runs"), thousands(f.Finished.Failed))
	if n := f.Finished.CutOff; n > 0 {
		finished += fmt.Sprintf(", %s interrupted or cut off", thousands(n))
	}
	if n := f.Finished.NotCounted; n > 0 {
		finished += fmt.Sprintf(", %s not counted, because their records were erased, pruned or are unreadable", thousands(n))
	}
	l.print("Finished", "", finished)
	l.print("Removed", "", fmt.Sprintf("of these records %s erased, %s pruned, %s on hold", thousands(f.Erased), thousands(f.Pruned), thousands(f.Held)))
	l.print("Holds", "", fmt.Sprintf("%s in force", thousands(int64(f.InForce))))
	text := plural(f.Checkpoints, "checkpoint", "checkpoints") + " signed"
	if f.Cosignatures > 0 {
		text += fmt.Sprintf(", the newest cosigned one covers %s and has %s", plural(f.Witnessed, "leaf", "leaves"),
			plural(int64(f.Cosignatures), "cosignature", "cosignatures"))
	} else {
		text += ", no cosigned one"
	}
	l.print("Checkpoints", "", text)
}

func (l lines) orders(list []daily.Order) {
	if len(list) == 0 {
		l.print("Orders", "", "none")
		return
	}
	l.print("Orders", "", plural(int64(len(list)), "order", "orders"))
	for i, o := range list {
		if l.more(i, len(list)) {
			break
		}
		text := fmt.Sprintf("leaf %d: %s by %s, %s: %s", o.Leaf, o.Action, giver(verifier.OrderAt{By: o.By, Time: o.Time, Ticket: o.Ticket, Approver: o.Approver}), o.Effect, o.Reason)
		if o.Records > 0 {
			text += fmt.Sprintf(" (%s)", plural(o.Records, "record", "records"))
		}
		l.print("", "  ", text)
	}
}

func (l lines) denials(f daily.Facts) {
	l.print("Refused", "", plural(f.DeniedCount, "call or action denied", "calls and actions denied"))
	for i, d := range f.Denied {
		if l.more(i, int(f.DeniedCount)) {
			break
		}
		text := fmt.Sprintf("leaf %d: %s %s %s", d.Leaf, d.Time.Format(time.RFC3339), d.Kind, d.Tool)
		if d.By != "" {
			text += ", by " + string(d.By)
		}
		if d.Run != "" {
			text += ", run " + d.Run
		}
		l.print("", "  ", text)
	}
}

func (l lines) uses(f daily.Facts) {
	l.print("Access", "", plural(int64(f.UseCount), "use of evidence", "uses of evidence"))
	for i, u := range f.Uses {
		if l.more(i, f.UseCount) {
			break
		}
		l.print("", "  ", useText(u))
	}
}

func useText(u access.Use) string {
	if u.Unreadable {
		return fmt.Sprintf("leaf %d: unreadable, sent by %s", u.Leaf, u.Producer)
	}
	text := fmt.Sprintf("%s %s: %s, %s", u.Time.Format(time.RFC3339), osuser.WithNote(u.By, u.User), actionText(u), whatOf(u.What))
	if u.As != "" {
		text += " as " + u.As
	}
	if why := strings.TrimSpace(u.Ticket + " " + u.Reason); why != "" {
		text += " (" + why + ")"
	}
	return text
}
