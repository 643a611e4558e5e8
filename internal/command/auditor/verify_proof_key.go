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

// proofKey returns the key with which to check the proof in text, and sets the anchor of r. If a
// pinned key signed the proof, proofKey prefers it to the key of the data directory.
func (v verification) proofKey(shared *cli.Shared, r *proofReport, text []byte) (note.Verifier, error) {
	var signed []byte
	var said ledger.Checkpoint
	if p, err := transparency.ParseProof(text); err == nil {
		signed = p.Checkpoint
		said, _ = ledger.ReadCheckpoint(signed) // an error here is reported by check
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

// keysOf returns the keys with which to check evidence outside any data directory, and the anchor
// for these keys. leads reports whether the evidence is signed by the given keys. A pinned key for
// which leads returns true is preferred to the key of the data directory.
func (v verification) keysOf(shared *cli.Shared, tenant string, leads func(ledger.Keys) bool) (ledger.Keys, *verifier.Anchor, error) {
	a, err := v.exported()
	if err != nil {
		return ledger.Keys{}, nil, err
	}
	own, failed := v.verifier(shared)
	if failed != nil && (v.key != "" || !errors.Is(failed, os.ErrNotExist)) {
		return ledger.Keys{}, nil, failed
	}
	keys, anchor := a.Vouch(own, tenant, nil, leads)
	if len(keys.Chain) == 0 {
		return ledger.Keys{}, nil, failed
	}
	return keys, anchor, nil
}

// conclude sets the exit status of a valid proof from its cosignatures and its anchor.
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
