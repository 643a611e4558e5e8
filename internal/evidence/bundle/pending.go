package bundle

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

func (b *bundle) pending(ctx context.Context) error {
	changes, err := b.reader.Orders().PendingKeys(ctx, b.newest.Tenant, b.opts.Changes, b.newest.Size)
	if err != nil {
		return err
	}
	for _, p := range changes {
		at, ok := p.Open(b.newest.Tenant)
		if !ok || at.Size == 0 {
			continue // no leaf is older than the new key
		}
		proof, err := b.proveTree(ctx, at.Size)
		if err != nil {
			return err
		}
		for _, h := range proof {
			p.Proof = append(p.Proof, h.String())
		}
		b.about.Pending = append(b.about.Pending, p)
	}
	return nil
}

// withPending accepts a key change that the ledger has not recorded only if the bundle continues
// the checkpoint that the new key signed. Otherwise, a thief of the old key could sign another
// history.
func (r *Report) withPending(recorded []ledger.KeyOrder, said ledger.Checkpoint) []ledger.KeyOrder {
	var pending []ledger.KeyOrder
	for i, p := range r.Bundle.Pending {
		at, ok := p.Open(said.Tenant)
		isRecorded := slices.ContainsFunc(recorded, func(k ledger.KeyOrder) bool { return k.Signed == p.Order })
		if !ok || isRecorded || !isContinued(p.Proof, at, said) {
			r.AddProblem("%s: pending change %d of the key is not one of this ledger", aboutFile, i+1)
			continue
		}
		pending = append(pending, ledger.KeyOrder{Leaf: at.Size, Signed: p.Order, Pending: true})
	}
	r.SetPending(pending)
	all := slices.Concat(recorded, pending)
	slices.SortStableFunc(all, func(a, b ledger.KeyOrder) int { return cmp.Compare(a.Leaf, b.Leaf) })
	return all
}

func isContinued(lines []string, then, newest ledger.Checkpoint) bool {
	proof := make(tlog.TreeProof, len(lines))
	for i, line := range lines {
		h, err := tlog.ParseHash(line)
		if err != nil {
			return false
		}
		proof[i] = h
	}
	return continues(proof, then, newest)
}

func continues(proof tlog.TreeProof, then, newest ledger.Checkpoint) bool {
	return then.Size >= 1 && then.Size <= newest.Size && tlog.CheckTree(proof, newest.Size, newest.Root, then.Size, then.Root) == nil
}
