package verifier

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// WitnessLag is how far a ledger may be ahead of the checkpoint that its witnesses
// have cosigned, by the times of the two, while a policy counts as met: witnesses
// are asked about the newest one, and answer when that has a successor.
const WitnessLag = time.Minute

// Witnesses is what the witnesses of a policy have said of a ledger.
type Witnesses struct {
	Met    bool          `json:"met"` // the policy, by a checkpoint that is not older than [WitnessLag], or of all there is
	By     []Cosignature `json:"by"`  // in the order of the policy
	Of     int           `json:"of"`  // witnesses of the policy
	Quorum bool          `json:"quorum"`
	Size   int64         `json:"size"`   // leaves that they have seen
	Behind int64         `json:"behind"` // leaves that came after them
	Time   time.Time     `json:"time,omitzero"`
	Reason string        `json:"reason,omitempty"` // why the policy is not met
}

// Cosignature is one witness's word.
type Cosignature struct {
	Witness string    `json:"witness"` // its name in the policy
	Time    time.Time `json:"time"`    // by its clock
}

// NewWitnesses tells what a policy has to say of a note that its log signed, whose
// checkpoint is c, where newest is the newest one of the ledger.
func NewWitnesses(policy *transparency.Policy, signed []byte, c, newest ledger.Checkpoint) *Witnesses {
	found := policy.Check(signed)
	w := &Witnesses{
		By: make([]Cosignature, 0, len(found.By)), Of: found.Of, Quorum: found.Quorum,
		Size: c.Size, Behind: newest.Size - c.Size, Time: c.Time,
	}
	for _, by := range found.By {
		w.By = append(w.By, Cosignature(by))
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

// NoWitnesses is what is said when there is nothing that witnesses have cosigned.
func NoWitnesses(policy *transparency.Policy, reason string) *Witnesses {
	return &Witnesses{By: []Cosignature{}, Of: len(policy.Witnesses), Reason: reason}
}

// String says how many witnesses of how many signed.
func (w *Witnesses) String() string {
	c := transparency.Cosigned{By: make([]transparency.CosignedBy, len(w.By)), Of: w.Of}
	return c.String()
}
