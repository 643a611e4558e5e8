package bundle

import (
	"context"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// stamped returns the content of timestamp.txt, or nil if no time stamp fits. The content is the
// newest time stamp and a proof that the bundle's checkpoint continues the time stamped checkpoint.
// stamped checks the hash in the token but no signature.
func (b *bundle) stamped(ctx context.Context) ([]byte, error) {
	names, err := timestamp.Names(b.reader.Path())
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		stored := timestamp.Read(b.reader.Path(), name)
		s := verifier.CheckStamp(stored, nil)
		if !s.Usable() || s.Tenant != b.newest.Tenant || s.Size < 1 || s.Size > b.newest.Size {
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

// stamped checks timestamp.txt.
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
