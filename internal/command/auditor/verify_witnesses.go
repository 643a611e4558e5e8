package auditor

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// Call askWitnesses before reading the ledger, because the ledger may grow.
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
	local = ledger.TrimNote(local)
	found := [][]byte{local}
	for _, k := range opts.Anchored {
		found = append(found, ledger.TrimNote(k.Note))
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

func (l lines) witnesses(w *verifier.Witnesses) {
	if w == nil || w.Met && w.Behind == 0 {
		return // the line Integrity has them
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
