package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/statement"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrOtherKey is [statement.ErrOtherKey].
var ErrOtherKey = statement.ErrOtherKey

// ErrInvalid means that the ledger was changed after it was signed. [WriteBundle] does not sign a
// bundle of such a ledger.
var ErrInvalid = errors.New("the ledger is INVALID: auditor verify shows the problems")

const maxGaps = 1000

// Seal identifies the event with which a producer declares that it has sent all its events of a
// run.
type Seal struct {
	Producer string `json:"producer"`
	Sequence uint64 `json:"sequence"`
	Hash     string `json:"sha256"`
}

type seals map[string]Seal

func (s seals) add(run string, l ledger.Leaf) {
	if run != "" && l.Run == run && l.Class == ledger.ClassEvent && l.Kind == events.RunSealed && l.Sequence >= s[l.Producer].Sequence {
		s[l.Producer] = Seal{l.Producer, l.Sequence, l.Hash.String()}
	}
}

func (s seals) list() []Seal {
	return slices.SortedFunc(maps.Values(s), func(a, b Seal) int { return cmp.Compare(a.Producer, b.Producer) })
}

// verify checks the whole ledger, because the signature of the bundle must not confirm an altered
// ledger.
func (b *bundle) verify(ctx context.Context, signed []byte) error {
	if err := statement.InCharge(b.opts.Signer, b.opts.Key, signed); err != nil {
		return err
	}
	key, _, err := ledger.ParseVerifier(b.opts.Key)
	if err != nil {
		return err
	}
	opts := verifier.Options{
		Key: key, Changes: b.opts.Changes, Tenant: b.newest.Tenant, Trusted: signed, Run: b.selection.Run,
		Progress: func(done, _ int64) {
			if b.opts.Progress != nil {
				b.opts.Progress(min(done, b.newest.Size), passes*b.newest.Size)
			}
		},
	}
	if b.selection.Stored {
		opts.From, opts.To = b.selection.From, b.selection.To
	}
	r, err := verifier.Verify(ctx, b.reader.Path(), opts)
	if err != nil {
		return err
	}
	if r.Exit == verifier.ExitInvalid || r.Exit == verifier.ExitDiverged {
		return ErrInvalid
	}
	switch s := b.selection; {
	case !s.From.IsZero() || !s.To.IsZero():
		if s.Stored {
			b.about.Window = windowOf(r)
			b.about.Window.Acknowledged = acknowledgedOf(r)
		}
	case s.Run != "":
		b.about.ofLedger(r)
		return b.acknowledged(ctx, r)
	}
	return nil
}

func (b *bundle) acknowledged(ctx context.Context, r verifier.Report) error {
	taken := make(map[int64]bool)
	for _, m := range r.Matters {
		if m.Acknowledged == nil || taken[m.Acknowledged.Leaf] || m.Acknowledged.Leaf >= b.newest.Size {
			continue
		}
		signed, err := b.reader.Orders().Signed(ctx, m.Acknowledged.Leaf)
		if err != nil {
			return err
		}
		taken[m.Acknowledged.Leaf] = true
		b.about.Acknowledged = append(b.about.Acknowledged, AcknowledgeOrder{m.Acknowledged.Leaf, signed})
	}
	return nil
}

func (a *About) ofLedger(r verifier.Report) {
	a.Gaps, a.Unsealed, a.Window = first(r.Gaps), r.Runs.Sealed == 0, windowOf(r)
	for _, p := range r.Producers {
		if p.Silent || p.Lost != nil {
			a.Absent = append(a.Absent, Absent{p.Name, p.Heard, p.Lost})
		}
	}
}

func (b *bundle) statement(w io.Writer) error {
	if b.opts.Signer == nil {
		return nil
	}
	origin, err := ledger.Origin(b.newest.Tenant)
	if err != nil {
		return err
	}
	s := Statement{
		Origin: origin, Size: b.newest.Size, Root: b.newest.Root, Run: b.about.Run, From: b.about.From, To: b.about.To, Times: b.about.Times,
		Leaves:     counted{b.about.Leaves, b.digests[leavesFile]},
		Again:      counted{b.seenAgain, b.digests[againFile]},
		Checkpoint: b.digests[checkpointFile], Bundle: b.digests[aboutFile], Page: b.digests[pageFile],
	}
	signed, err := statement.Sign(s.Text(), b.opts.Signer, b.opts.Key)
	if err != nil {
		return err
	}
	_, err = w.Write(signed)
	return err
}

const (
	unsignedV1 = "bundles of version 1 have no signed selection, so records may have been left out: export it again"
	unsigned   = "the ledger's key did not sign it, so records may have been left out: verify the ledger, or export it where the key is"
)

func (c *checker) attested() {
	if c.report.Bundle.Format == formatV1 {
		c.report.NotAttested = unsignedV1
		return
	}
	signed, err := c.small(selectionFile)
	if err != nil {
		c.report.AddProblem("%s: %v", selectionFile, err)
		return
	}
	if len(signed) == 0 {
		c.report.NotAttested = unsigned
		return
	}
	s, err := openStatement(signed, c.keys.At(c.newest.Size+1))
	if err != nil {
		c.report.AddProblem("%s: %v", selectionFile, err)
		return
	}
	c.signed, c.report.Attested = &s, true
	c.compareStatement(s)
}

func (c *checker) compareStatement(s Statement) {
	a := c.report.Bundle
	if origin, err := ledger.Origin(c.newest.Tenant); err != nil || s.Origin != origin || s.Size != c.newest.Size || s.Root != c.newest.Root {
		c.report.AddProblem("%s: it is about another checkpoint", selectionFile)
	}
	if s.Run != a.Run || !s.From.Equal(a.From) || !s.To.Equal(a.To) || s.Times != a.Times || s.Leaves.Lines != a.Leaves {
		c.report.AddProblem("%s: it is about another selection than %s", selectionFile, aboutFile)
	}
	for _, f := range [...]struct {
		name string
		want events.Hash
	}{
		{leavesFile, s.Leaves.Hash}, {againFile, s.Again.Hash}, {checkpointFile, s.Checkpoint}, {aboutFile, s.Bundle}, {pageFile, s.Page},
	} {
		if c.digests[f.name] != f.want {
			c.report.AddProblem("%s: it is not the one that was signed in %s", f.name, selectionFile)
		}
	}
}

func (w *walk) agrees() error {
	a := w.report.Bundle
	if a.Format != formatV1 && !slices.Equal(w.seals.list(), a.Seals) {
		w.report.AddProblem("%s names other seals than %s has", aboutFile, leavesFile)
	}
	if s := w.signed; s != nil && s.Again.Lines != w.report.SeenAgain {
		w.report.AddProblem("%s: it counts other lines of %s", selectionFile, againFile)
	}
	page, err := w.page.sum()
	if err != nil {
		return fmt.Errorf("%s: %w", pageFile, err)
	}
	// A signed page may differ, because another version of Hooktrail may have rendered it.
	if w.digests[pageFile] != page && w.signed == nil {
		w.report.AddProblem("%s shows something else than the records", pageFile)
	}
	return nil
}
