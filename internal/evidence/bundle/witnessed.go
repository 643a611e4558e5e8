package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (b *bundle) witnessed(ctx context.Context, w io.Writer) error {
	signed, c, err := b.reader.Tree().Witnessed(ctx)
	if err != nil || signed == nil || c.Size == 0 || c.Size > b.newest.Size {
		return err
	}
	if keys, err := b.keys(ctx); err != nil || !isSigned(signed, c.Size, keys) {
		return err
	}
	proof, err := b.prove(ctx, c.Size)
	if err != nil {
		return err
	}
	_, err = w.Write(append(proof, signed...))
	return err
}

func (b *bundle) prove(ctx context.Context, size int64) ([]byte, error) {
	proof, err := b.proveTree(ctx, size)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, h := range proof {
		text.WriteString(h.String() + "\n")
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

func (b *bundle) proveTree(ctx context.Context, size int64) (tlog.TreeProof, error) {
	return tlog.ProveTree(b.newest.Size, size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return b.reader.Tree().Hashes(ctx, indexes)
	}))
}

func (c *checker) witnessed() {
	if c.opts.Witnesses != nil {
		c.report.Witnesses = verifier.NoWitnesses(c.opts.Witnesses, "the bundle has no checkpoint that witnesses have cosigned")
	}
	text, err := c.small(witnessedFile)
	if err == nil && len(text) == 0 {
		return
	}
	var signed []byte
	var then ledger.Checkpoint
	if err == nil {
		signed, then, err = c.openContinued(text)
	}
	if err != nil {
		c.report.AddProblem("%s: %v", witnessedFile, err)
		return
	}
	if c.opts.Witnesses != nil {
		c.report.Witnesses = verifier.NewWitnesses(c.opts.Witnesses, signed, then, c.newest)
	}
}

func (c *checker) openContinued(text []byte) (signed []byte, then ledger.Checkpoint, err error) {
	proof, signed, err := cutProof(text)
	if err == nil {
		then, err = c.continues(proof, signed)
	}
	return signed, then, err
}

func cutProof(text []byte) (proof tlog.TreeProof, rest []byte, err error) {
	head, rest, ok := bytes.Cut(append([]byte("\n"), text...), []byte("\n\n"))
	if !ok {
		return nil, nil, errors.New("it has no empty line")
	}
	for line := range strings.Lines(strings.TrimPrefix(string(head)+"\n", "\n")) {
		h, err := tlog.ParseHash(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, nil, errors.New("it has a line that is no hash")
		}
		proof = append(proof, h)
	}
	return proof, rest, nil
}

func (c *checker) continues(proof tlog.TreeProof, signed []byte) (then ledger.Checkpoint, err error) {
	if then, err = ledger.ReadCheckpoint(signed); err == nil {
		then, err = ledger.OpenCheckpoint(signed, c.keys.At(then.Size))
	}
	if err != nil {
		return then, err
	}
	if then.Tenant != c.newest.Tenant {
		return then, fmt.Errorf("it is of tenant %q", then.Tenant)
	}
	if !continues(proof, then, c.newest) {
		return then, fmt.Errorf("%s does not continue it", checkpointFile)
	}
	return then, nil
}
