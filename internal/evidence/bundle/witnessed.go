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
	proof, err := tlog.ProveTree(b.newest.Size, c.Size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return b.reader.Tree().Hashes(ctx, indexes)
	}))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, h := range proof {
		text.WriteString(h.String() + "\n")
	}
	text.WriteByte('\n')
	text.Write(signed)
	_, err = w.Write(text.Bytes())
	return err
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
		signed, then, err = openWitnessed(text, c.keys, c.newest)
	}
	if err != nil {
		c.report.AddProblem("%s: %v", witnessedFile, err)
		return
	}
	if c.opts.Witnesses != nil {
		c.report.Witnesses = verifier.NewWitnesses(c.opts.Witnesses, signed, then, c.newest)
	}
}

// openWitnessed verifies a cosigned checkpoint, which the checkpoint newest must continue.
func openWitnessed(text []byte, keys ledger.Keys, newest ledger.Checkpoint) (signed []byte, c ledger.Checkpoint, err error) {
	head, signed, ok := bytes.Cut(append([]byte("\n"), text...), []byte("\n\n"))
	if !ok {
		return nil, c, errors.New("it has no empty line")
	}
	var proof tlog.TreeProof
	for line := range strings.Lines(strings.TrimPrefix(string(head)+"\n", "\n")) {
		h, err := tlog.ParseHash(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, c, errors.New("it has a line that is no hash")
		}
		proof = append(proof, h)
	}
	if c, err = ledger.ReadCheckpoint(signed); err == nil {
		c, err = ledger.OpenCheckpoint(signed, keys.At(c.Size))
	}
	if err != nil {
		return nil, c, err
	}
	if c.Tenant != newest.Tenant {
		return nil, c, fmt.Errorf("it is of tenant %q", c.Tenant)
	}
	if c.Size < 1 || c.Size > newest.Size || tlog.CheckTree(proof, newest.Size, newest.Root, c.Size, c.Root) != nil {
		return nil, c, fmt.Errorf("%s does not continue it", checkpointFile)
	}
	return signed, c, nil
}
