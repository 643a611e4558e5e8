package auditor

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (l lines) breaks(r verifier.Report) {
	label := "Stream"
	for i, b := range r.Breaks {
		if l.more(i, len(r.Breaks)) {
			return
		}
		l.print(label, l.verdict("BROKE OFF", l.palette.Warn), breakText(b))
		label = ""
	}
}

func breakText(b verifier.Break) string {
	at := b.Noticed.Format(time.RFC3339) + ": "
	switch {
	case !b.Replaced:
		return at + fmt.Sprintf("messages were gone before they were read, among #%d–#%d of the stream", b.After+1, b.Until)
	case b.Until == 0:
		return at + fmt.Sprintf("it was another one, or was taken back, behind #%d: read from its beginning", b.After)
	}
	return at + fmt.Sprintf("it was another one, or was taken back, behind #%d: read on behind #%d, which both have", b.After, b.Until)
}

func unheard(r verifier.Report) []string {
	var names []string
	for _, p := range r.Producers {
		if p.SilentSinceBreak {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{
		"producers not heard of since the stream broke off: " + list(names),
		"  start their service again, so that they say what they sent",
	}
}
