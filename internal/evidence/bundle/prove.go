package bundle

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

var errPath = errors.New("leaves and hashes do not lead to the root of the checkpoint: auditor verify shows the problem")

// Prove reads the bundle at path and returns the proof that the event with the given id is in the
// ledger. It checks no signature. If the event is not in the bundle, the error wraps
// [ledger.ErrNoLeaf].
func Prove(ctx context.Context, path, event string) (p ledger.Proof, err error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return p, fmt.Errorf("prove event %q from bundle: %w", event, err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	c := &checker{}
	if !c.contents(&z.Reader) {
		return p, fmt.Errorf("%s: %w: %s", path, errBundle, c.report.Problems[0])
	}
	if p, err = c.prove(ctx, event); err != nil {
		return ledger.Proof{}, fmt.Errorf("prove event %q from bundle %s: %w", event, path, err)
	}
	return p, nil
}

func (c *checker) prove(ctx context.Context, event string) (p ledger.Proof, err error) {
	if p.Checkpoint, err = c.small(checkpointFile); err != nil {
		return p, fmt.Errorf("%s: %w", checkpointFile, err)
	}
	newest, err := ledger.ReadCheckpoint(p.Checkpoint)
	if err != nil {
		return p, fmt.Errorf("%s: %w", checkpointFile, err)
	}
	if p.Index, p.Leaf, err = c.find(ctx, event); err != nil {
		return p, err
	}
	if p.Index < 0 || p.Index >= newest.Size {
		return p, errPath
	}
	if p.Path, err = c.path(ctx, p.Index, newest.Size); err != nil {
		return p, err
	}
	if tlog.CheckRecord(p.Path, newest.Size, newest.Root, p.Index, tlog.RecordHash(p.Leaf)) != nil {
		return p, errPath
	}
	return p, nil
}

func (c *checker) find(ctx context.Context, event string) (index int64, leaf []byte, err error) {
	for l, err := range linesOf(c, leavesFile, parseLeafLine) {
		if err = errors.Join(ctx.Err(), err); err != nil {
			return 0, nil, err
		}
		parsed, err := ledger.ParseLeaf(l.bytes())
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", leavesFile, err)
		}
		if parsed.Class == ledger.ClassEvent && parsed.ID == event {
			return l.Index, l.bytes(), nil
		}
	}
	return 0, nil, ledger.ErrNoLeaf
}

func (c *checker) path(ctx context.Context, leaf, size int64) (path []tlog.Hash, err error) {
	leaves, err := c.source(leavesFile, parseLeafHash)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, leaves.in.Close()) }()
	subtrees, err := c.source(treeFile, parseSubtree)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, subtrees.in.Close()) }()
	beside := newSiblings(leaf, size)
	for ctx.Err() == nil {
		next := leaves
		if subtrees.first() < leaves.first() {
			next = subtrees
		}
		if next.end {
			return beside.hashes()
		}
		if err := beside.add(next.subtree, next.hash); err != nil {
			return nil, err
		}
		if err := next.advance(); err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

type source struct {
	name  string
	in    io.ReadCloser
	lines *lineReader
	parse func(line []byte) (subtree, tlog.Hash, error)

	end     bool
	subtree subtree
	hash    tlog.Hash
}

func (c *checker) source(name string, parse func([]byte) (subtree, tlog.Hash, error)) (*source, error) {
	in, err := c.files[name].Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &source{name: name, in: in, lines: newLineReader(in), parse: parse}
	if err := s.advance(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return s, nil
}

func (s *source) first() int64 {
	if s.end {
		return math.MaxInt64
	}
	return s.subtree.index << s.subtree.level
}

func (s *source) advance() error {
	line, ok, err := s.lines.next()
	if err == nil && ok {
		s.subtree, s.hash, err = s.parse(line)
	}
	s.end = !ok
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func parseLeafHash(line []byte) (subtree, tlog.Hash, error) {
	l, err := parseLeafLine(line)
	if err != nil {
		return subtree{}, tlog.Hash{}, err
	}
	return subtree{0, l.Index}, tlog.RecordHash(l.bytes()), nil
}
