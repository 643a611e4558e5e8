package auditor

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (l lines) foreign(r verifier.Report) {
	if r.ForeignCount > 0 {
		l.print("Foreign", l.verdict(fmt.Sprintf("FOUND (%s)", thousands(r.ForeignCount)), l.palette.Bad),
			"other writers used the names of producers; the verdict is without these records")
		for i, f := range r.Foreign {
			if l.more(i, int(r.ForeignCount)) {
				break
			}
			l.print("", "  ", fmt.Sprintf("leaf %d, %s: producer %s #%d, stream sequence %d: %s",
				f.Leaf, f.Class, f.Producer, f.Sequence, f.StreamSequence, f.Reason))
		}
	}
	var unsigned []string
	for _, p := range r.Producers {
		if !p.UnsignedBefore.IsZero() {
			unsigned = append(unsigned, fmt.Sprintf("%s before %s", p.Name, p.UnsignedBefore.Format(time.RFC3339)))
		}
	}
	if len(unsigned) > 0 {
		l.print("Unsigned", "", list(unsigned))
	}
}
