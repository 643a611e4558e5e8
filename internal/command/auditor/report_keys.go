package auditor

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (l lines) keys(r verifier.Report) {
	for i, k := range r.Keys {
		label := "Keys"
		if i > 0 {
			label = ""
		}
		if l.more(i, len(r.Keys)) {
			break
		}
		text := fmt.Sprintf("%s, since %s (leaf %d), from %s, by %s: %s", k.To, k.Time.Format(time.RFC3339), k.Leaf, k.From, k.By, k.Reason)
		if k.Effect != ledger.EffectDone {
			text = fmt.Sprintf("leaf %d: the order of %s to put %s in the place of %s came to nothing: another key has that place",
				k.Leaf, k.By, k.To, k.From)
		}
		l.print(label, "", text)
	}
	for _, k := range r.PendingKeys {
		l.print("Key", l.verdict("PENDING", l.palette.Warn), fmt.Sprintf("%s replaces %s since %s, by %s: %s; the next start of the auditor records it",
			k.To, k.From, k.Time.Format(time.RFC3339), k.By, k.Reason))
	}
	if r.PowerlessCount == 0 {
		return
	}
	l.print("Powerless", "", plural(r.PowerlessCount, "order", "orders")+" of keys that had been replaced: somebody has them who should not")
	for i, p := range r.Powerless {
		if l.more(i, int(r.PowerlessCount)) {
			break
		}
		l.print("", "  ", fmt.Sprintf("leaf %d: %s, signed by %s", p.Leaf, p.Action, p.Key))
	}
}
