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

// proofKey returns the key to check a proof with, and sets the anchor of the report. A
// pinned key that signed the proof comes before the key of the data directory.
func (v verification) proofKey(shared *cli.Shared, r *proofReport, text []byte, a *verifier.Anchoring) (note.Verifier, error) {
	own, failed := v.verifier(shared)
	if failed != nil && (v.key != "" || !errors.Is(failed, os.ErrNotExist)) {
		return nil, failed
	}
	var signed []byte
	var said ledger.Checkpoint
	if p, err := transparency.ParseProof(text); err == nil {
		signed = p.Checkpoint
		said, _ = ledger.ReadCheckpoint(signed) // the check reports it
	}
	keys, anchor := a.Vouch(own, said.Tenant, nil, func(k ledger.Keys) bool {
		_, err := ledger.OpenCheckpoint(signed, k.At(said.Size))
		return err == nil
	})
	if len(keys.Chain) == 0 {
		return nil, failed
	}
	r.Anchor = anchor
	return keys.Chain[0], nil
}

// conclude sets the exit status of a valid proof.
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
