package bundle

import (
	"cmp"
	"context"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// stamped ignores time stamps of checkpoints that the ledger did not sign, because any user who can
// write to the folder could add them.
func (b *bundle) stamped(ctx context.Context) ([]byte, error) {
	names, err := timestamp.Names(b.reader.Path())
	if err != nil || len(names) == 0 {
		return nil, err
	}
	keys, err := b.keys(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		stored := timestamp.Read(b.reader.Path(), name)
		s := verifier.CheckStamp(stored, nil)
		if !s.Usable() || !b.covers(s.Checkpoint) || !isSigned(stored.Note, s.Size, keys) {
			continue
		}
		if root, err := b.reader.Tree().RootAt(ctx, s.Size); err != nil || root != s.Root {
			continue // auditor verify reports it
		}
		proof, err := b.prove(ctx, s.Size)
		if err != nil {
			return nil, err
		}
		return append(proof, stored.Encode()...), nil
	}
	return nil, nil
}

func (b *bundle) covers(c ledger.Checkpoint) bool {
	return c.Tenant == b.newest.Tenant && c.Size >= 1 && c.Size <= b.newest.Size
}

func (b *bundle) keys(ctx context.Context) (ledger.Keys, error) {
	key, _, err := ledger.ParseVerifier(b.opts.Key)
	if err != nil {
		return ledger.Keys{}, err
	}
	orders, err := b.reader.Orders().RecordedKeys(ctx, b.newest.Size)
	if err != nil {
		return ledger.Keys{}, err
	}
	for _, p := range b.about.Pending {
		if at, ok := p.Open(b.newest.Tenant); ok {
			orders = append(orders, ledger.KeyOrder{Leaf: at.Size, Signed: p.Order, Pending: true})
		}
	}
	slices.SortStableFunc(orders, func(a, b ledger.KeyOrder) int { return cmp.Compare(a.Leaf, b.Leaf) })
	return ledger.LinkKeys(key, b.newest.Tenant, orders), nil
}

func isSigned(signed []byte, size int64, keys ledger.Keys) bool {
	_, err := ledger.OpenCheckpoint(signed, keys.At(size))
	return err == nil
}

func (c *checker) stamped() {
	if c.opts.TSA != nil {
		c.report.TimeStamps = &verifier.TimeStamps{Checked: true}
	}
	if c.files[stampFile] == nil {
		return
	}
	stored, err := c.openStamp()
	if err != nil {
		c.report.AddProblem("%s: %v", stampFile, err)
		return
	}
	c.report.TimeStamps = &verifier.TimeStamps{Stored: 1, Checked: c.opts.TSA != nil}
	c.report.TimeStamps.Add(verifier.CheckStamp(stored, c.opts.TSA))
}

func (c *checker) openStamp() (stored timestamp.Stored, err error) {
	text, err := c.small(stampFile)
	if err != nil {
		return stored, err
	}
	proof, rest, err := cutProof(text)
	if err == nil {
		stored, err = timestamp.ParseStored(rest)
	}
	if err == nil {
		_, err = c.continues(proof, stored.Note)
	}
	return stored, err
}
