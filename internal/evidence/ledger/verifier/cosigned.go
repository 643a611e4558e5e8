package verifier

import (
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// witnessed returns the cosigned checkpoint as a checkpoint to compare with.
func (o Options) witnessed() trusted {
	c, err := ledger.ReadCheckpoint(o.Witnessed)
	t := newTrusted("the witnesses", c)
	if err != nil {
		t.found = Trusted{From: t.found.From, Unusable: true, Reason: err.Error()}
	}
	t.cosigned, t.signed = o.Witnessed, o.Witnessed
	return t
}

// concludeWitnesses fills in the report about the witnesses.
func (v *verifier) concludeWitnesses() {
	if v.opts.Witnesses == nil {
		return
	}
	v.report.Witnesses = NoWitnesses(v.opts.Witnesses, "there is no checkpoint that witnesses have cosigned")
	for _, t := range v.trusted {
		switch {
		case t.cosigned == nil:
		case t.found.Unusable:
			v.report.Witnesses.Reason = "what lies where cosigned checkpoints do is none of this ledger's: " + t.found.Reason
		default:
			v.report.Witnesses = NewWitnesses(v.opts.Witnesses, t.cosigned, t.Checkpoint, v.newest)
			if t.found.Diverged {
				v.report.Witnesses.Met, v.report.Witnesses.Reason = false, t.found.Reason
			}
		}
	}
}
