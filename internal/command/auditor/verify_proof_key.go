package auditor

import (
	"errors"
	"os"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func (v verification) proofKey(shared *cli.Shared, r *proofReport, text []byte) (note.Verifier, error) {
	var signed []byte
	var said ledger.Checkpoint
	if p, err := transparency.ParseProof(text); err == nil {
		signed = p.Checkpoint
		said, _ = ledger.ReadCheckpoint(signed) // check reports the error
	}
	keys, anchor, err := v.keysOf(shared, said.Tenant, func(k ledger.Keys) bool {
		_, err := ledger.OpenCheckpoint(signed, k.At(said.Size))
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	r.Anchor = anchor
	return keys.Chain[0], nil
}

func (v verification) keysOf(shared *cli.Shared, tenant string, isSigner func(ledger.Keys) bool) (ledger.Keys, *verifier.Anchor, error) {
	a, err := v.exported()
	if err != nil {
		return ledger.Keys{}, nil, err
	}
	own, failed := v.verifier(shared)
	if failed != nil && (v.key != "" || !errors.Is(failed, os.ErrNotExist)) {
		return ledger.Keys{}, nil, failed
	}
	keys, anchor := a.Vouch(own, tenant, nil, isSigner)
	if len(keys.Chain) == 0 {
		return ledger.Keys{}, nil, failed
	}
	return keys, anchor, nil
}

func (r *proofReport) conclude() {
	r.Anchor.Witnessed(r.Witnesses)
	if r.Anchor.State == verifier.AnchorNone {
		r.Anchor.Remedy(r.Key)
	}
	if r.Witnesses != nil && !r.Witnesses.Met {
		r.Exit = verifier.ExitUnwitnessed
	}
	r.Exit = max(r.Exit, r.Anchor.Exit())
}
