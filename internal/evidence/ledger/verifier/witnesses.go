package verifier

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// WitnessLag is how much older than the newest checkpoint the newest cosigned checkpoint may be.
const WitnessLag = time.Minute

// Witnesses says which part of the ledger the witnesses of a policy have cosigned.
type Witnesses struct {
	// Met means that enough witnesses have cosigned a checkpoint that is recent or covers the
	// whole ledger.
	Met    bool                      `json:"met"`
	By     []transparency.CosignedBy `json:"by"`               // witnesses with a valid cosignature
	Of     int                       `json:"of"`               // number of witnesses in the policy
	Quorum bool                      `json:"quorum"`           // enough of them cosigned
	Size   int64                     `json:"size"`             // leaves of the cosigned checkpoint
	Behind int64                     `json:"behind"`           // later leaves of the ledger
	Time   time.Time                 `json:"time,omitzero"`    // when the checkpoint was signed
	Reason string                    `json:"reason,omitempty"` // why Met is false
}

// NewWitnesses checks whether the witnesses have cosigned the checkpoint c as the policy requires,
// and whether c is recent compared with the checkpoint newest.
func NewWitnesses(policy *transparency.Policy, signed []byte, c, newest ledger.Checkpoint) *Witnesses {
	found := policy.Check(signed)
	w := &Witnesses{
		By: append([]transparency.CosignedBy{}, found.By...), Of: found.Of, Quorum: found.Quorum,
		Size: c.Size, Behind: newest.Size - c.Size, Time: c.Time,
	}
	switch {
	case !found.Log:
		w.Reason = "no log of the policy has the ledger's key"
	case !found.Quorum:
		w.Reason = fmt.Sprintf("%s have cosigned the checkpoint of %d leaves, which are not enough", found, c.Size)
	case c.Arrivals < newest.Arrivals && newest.Time.Sub(c.Time) > WitnessLag:
		w.Reason = fmt.Sprintf("the newest checkpoint is %s ahead of what the witnesses have cosigned",
			newest.Time.Sub(c.Time).Round(time.Second))
	default:
		w.Met = true
	}
	return w
}

// NoWitnesses returns the result for a ledger without a cosigned checkpoint. reason says why there
// is none.
func NoWitnesses(policy *transparency.Policy, reason string) *Witnesses {
	return &Witnesses{By: []transparency.CosignedBy{}, Of: len(policy.Witnesses), Reason: reason}
}

// String says how many of the policy's witnesses have cosigned the checkpoint.
func (w *Witnesses) String() string {
	return transparency.Cosigned{By: w.By, Of: w.Of}.String()
}

func (o Options) witnessed() trusted {
	c, err := ledger.ReadCheckpoint(o.Witnessed)
	t := newTrusted("the witnesses", c)
	if err != nil {
		t.found = Trusted{From: t.found.From, Unusable: true, Reason: err.Error()}
	}
	t.cosigned, t.signed = o.Witnessed, o.Witnessed
	return t
}

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
