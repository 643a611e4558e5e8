package auditor

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (l lines) anchor(a *verifier.Anchor) {
	if a == nil {
		return
	}
	paint := l.palette.Good
	switch a.State {
	case verifier.AnchorNone:
		paint = l.palette.Warn
	case verifier.AnchorDiverged:
		paint = l.palette.Bad
	case verifier.AnchorPinned, verifier.AnchorGiven:
	}
	l.print("Anchor", l.verdict(string(a.State), paint), AnchorText(a))
}

// AnchorText describes the anchor that confirms the key. Without an anchor, it describes the
// remedy.
func AnchorText(a *verifier.Anchor) string {
	switch a.State {
	case verifier.AnchorPinned:
		text := "key " + a.Key + ", first seen " + a.Since.UTC().Format(time.RFC3339)
		if a.Of != "" {
			text += " in " + a.Of
		}
		return text
	case verifier.AnchorGiven:
		return "by " + a.By
	case verifier.AnchorNone, verifier.AnchorDiverged:
	}
	return a.Reason
}
