package auditor

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// askWitnesses reads the policy, and the cosigned checkpoint of the ledger at path. The
// checkpoint is next to the ledger or stored elsewhere. It is read before the ledger,
// which may grow meanwhile.
func (v verification) askWitnesses(opts *verifier.Options, path string) (err error) {
	if v.witnessPolicy == "" {
		return nil
	}
	if opts.Witnesses, err = anchor.ReadPolicy(v.witnessPolicy); err != nil {
		return err
	}
	local, err := ledger.ReadWitnessed(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found := [][]byte{local}
	for _, k := range opts.Anchored {
		found = append(found, k.Note)
	}
	for _, signed := range found {
		if opts.Witnesses.Check(signed).Met() {
			opts.Witnessed = signed
			return nil
		}
	}
	opts.Witnessed = local
	return nil
}

// witnessedProof checks the cosignatures on the checkpoint of a proof.
func (v verification) witnessedProof(signed []byte, c ledger.Checkpoint) (*verifier.Witnesses, error) {
	if v.witnessPolicy == "" {
		return nil, nil
	}
	policy, err := anchor.ReadPolicy(v.witnessPolicy)
	if err != nil {
		return nil, err
	}
	return verifier.NewWitnesses(policy, signed, c, c), nil
}

// witnesses prints whether the witness policy is met.
func (l lines) witnesses(w *verifier.Witnesses) {
	if w == nil || w.Met && w.Behind == 0 {
		return // printed next to the verdict
	}
	at := ""
	if w.Size > 0 {
		at = fmt.Sprintf(", of the first %s", plural(w.Size, "leaf", "leaves"))
	}
	if w.Met {
		l.print("Witnesses", l.verdict("MET", l.palette.Good),
			fmt.Sprintf("%s%s; %d more came less than %s later", w, at, w.Behind, verifier.WitnessLag))
		return
	}
	l.print("Witnesses", l.verdict("NOT MET", l.palette.Warn), w.String()+at+": "+w.Reason)
}
