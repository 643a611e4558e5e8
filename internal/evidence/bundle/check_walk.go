package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// walk reads the leaves, records, repeated events and subtrees of a bundle in one pass,
// and computes the root.
type walk struct {
	*checker
	leaves, records, subtrees, seen *lineReader
	closers                         []io.Closer

	fold    fold
	judge   *verifier.Judge
	again   *ledger.Again // next repeated event
	trusted *tlog.Hash    // root at the size of the trusted checkpoint
	whole   bool          // the bundle is of the whole ledger
	last    int64         // index of the current leaf
}

func (c *checker) newWalk() (w *walk, err error) {
	extent, ok := c.report.Bundle.extent()
	w = &walk{checker: c, judge: verifier.NewJudge(extent), whole: ok && extent == verifier.WholeLedger, last: -1}
	w.judge.Authority(c.newest.Tenant, c.keys)
	for _, f := range []struct {
		name string
		to   **lineReader
	}{{leavesFile, &w.leaves}, {recordsFile, &w.records}, {treeFile, &w.subtrees}, {againFile, &w.seen}} {
		in, err := c.files[f.name].Open()
		if err != nil {
			w.close()
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		w.closers = append(w.closers, in)
		*f.to = newLineReader(in)
	}
	return w, nil
}

// close closes the files.
func (w *walk) close() {
	for _, c := range w.closers {
		_ = c.Close() // read only
	}
}

// all reads everything and judges completeness.
func (w *walk) all(ctx context.Context) error {
	err := w.read(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || w.report.ProblemCount > 0 {
		if err != nil {
			w.problem("%v", err)
		}
		return nil
	}
	return w.complete()
}

func (w *walk) read(ctx context.Context) error {
	w.compareHere()
	if err := w.nextAgain(); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, ok, err := w.leaves.next()
		if err != nil {
			return fmt.Errorf("%s: %w", leavesFile, err)
		}
		if !ok {
			return w.end()
		}
		if err := w.leaf(line); err != nil {
			return err
		}
		if w.opts.Progress != nil {
			w.opts.Progress(w.report.Leaves, w.report.Bundle.Leaves)
		}
	}
}

// leaf checks the next leaf and its record.
func (w *walk) leaf(text []byte) error {
	var l leafLine
	if err := parseLine(text, &l); err != nil {
		return fmt.Errorf("%s: line %d: %w", leavesFile, w.report.Leaves+1, err)
	}
	if l.Index <= w.last || l.Index >= w.newest.Size {
		return fmt.Errorf("leaf %d is out of order, or behind the checkpoint", l.Index)
	}
	w.last = l.Index
	leaf, err := ledger.ParseLeaf(l.bytes())
	if err != nil {
		return fmt.Errorf("leaf %d: %w", l.Index, err)
	}
	if err := w.subtreesBefore(l.Index); err != nil {
		return err
	}
	if err := w.fold.add(subtree{0, l.Index}, tlog.RecordHash(l.bytes())); err != nil {
		return fmt.Errorf("leaf %d: %w", l.Index, err)
	}
	w.compareHere()
	record, err := w.record()
	if err != nil {
		return fmt.Errorf("leaf %d: its record: %w", l.Index, err)
	}
	if err := w.againBefore(l); err != nil {
		return err
	}
	taken := verifier.Taken{
		Index: l.Index, Leaf: leaf, Bytes: record, Epoch: l.Epoch, Stream: l.Stream, Stored: l.Stored,
		Removal: ledger.Removal{Word: l.Removed, Order: l.Order},
	}
	ordered := w.judge.Awaits(l.Index)
	if err := w.judge.Take(taken); err != nil {
		w.problem("leaf %d: %v", l.Index, err)
	}
	if !ordered && !w.selected(leaf) {
		w.problem("leaf %d is not of what was selected", l.Index)
	}
	w.count(leaf.Class)
	return nil
}

func (w *walk) count(class ledger.Class) {
	w.report.Leaves++
	switch class {
	case ledger.ClassEvent:
		w.report.Events++
	case ledger.ClassManifest:
		w.report.Manifests++
	case ledger.ClassConflict, ledger.ClassQuarantine:
		w.report.SetApart++
	}
}

// selected reports whether the selection includes a leaf.
func (w *walk) selected(l ledger.Leaf) bool {
	a := w.report.Bundle
	if a.isRun() && l.Class == ledger.ClassManifest {
		return true
	}
	return (a.Run == "" || l.Run == a.Run) &&
		(a.From.IsZero() || !l.Time.IsZero() && !l.Time.Before(a.From)) &&
		(a.To.IsZero() || !l.Time.IsZero() && l.Time.Before(a.To))
}

func (w *walk) record() ([]byte, error) {
	line, ok, err := w.records.next()
	if err == nil && !ok {
		err = errors.New("it is missing")
	}
	if err != nil {
		return nil, err
	}
	return parseRecord(line)
}

// subtreesBefore adds the subtrees before a leaf.
func (w *walk) subtreesBefore(leaf int64) error {
	for w.fold.size < leaf {
		line, ok, err := w.subtrees.next()
		if err == nil && !ok {
			err = errors.New("a line is missing")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", treeFile, err)
		}
		t, hash, err := parseSubtree(line)
		if err == nil {
			err = w.fold.add(t, hash)
		}
		if err == nil && w.fold.size > leaf {
			err = errors.New("a subtree reaches over a leaf")
		}
		if err != nil {
			return fmt.Errorf("%s: behind leaf %d: %w", treeFile, w.last, err)
		}
		w.compareHere()
	}
	return nil
}

// compareHere records the root at the size of the trusted checkpoint.
func (w *walk) compareHere() {
	if t := w.checker.trusted; t != nil && t.Size == w.fold.size {
		root := w.fold.root()
		w.trusted = &root
	}
}

// end adds the subtrees after the last leaf and compares the root with the signed one.
func (w *walk) end() error {
	if err := w.subtreesBefore(w.newest.Size); err != nil {
		return err
	}
	if err := w.againBefore(leafLine{Epoch: ^uint64(0)}); err != nil {
		return err
	}
	if err := w.nothingLeft(); err != nil {
		return err
	}
	if w.fold.root() != w.newest.Root {
		w.problem("the root of the leaves and the tree differs from the signed one")
	}
	if a := w.report.Bundle; a.Leaves != w.report.Leaves {
		w.problem("%s says that there are %d leaves, and there are %d", aboutFile, a.Leaves, w.report.Leaves)
	}
	if !w.whole {
		return nil
	}
	if w.report.Leaves != w.newest.Size {
		w.problem("%d of the %d leaves of the ledger are missing", w.newest.Size-w.report.Leaves, w.newest.Size)
	} else if count, digest := w.judge.Arrivals(); count != w.newest.Arrivals || digest != w.newest.Digest {
		w.problem("where leaves came from, or what was seen again, differs from what was signed")
	}
	return nil
}

// nothingLeft reports remaining lines and erasures without an order.
func (w *walk) nothingLeft() error {
	for _, err := range w.judge.Unaccounted() {
		w.problem("%v", err)
	}
	for name, lines := range map[string]*lineReader{recordsFile: w.records, treeFile: w.subtrees, againFile: w.seen} {
		if _, more, err := lines.next(); err != nil || more {
			return fmt.Errorf("%s: there is more than belongs to the leaves", name)
		}
	}
	return nil
}

// nextAgain reads the next repeated event.
func (w *walk) nextAgain() error {
	w.again = nil
	line, ok, err := w.seen.next()
	if err != nil || !ok {
		if err != nil {
			err = fmt.Errorf("%s: %w", againFile, err)
		}
		return err
	}
	var l againLine
	err = parseLine(line, &l)
	if err == nil {
		var a ledger.Again
		a, err = l.again()
		w.again = &a
	}
	if err != nil {
		return fmt.Errorf("%s: %w", againFile, err)
	}
	return nil
}

// againBefore judges the repeated events that arrived before a leaf.
func (w *walk) againBefore(l leafLine) error {
	for w.again != nil && (w.again.Epoch < l.Epoch || w.again.Epoch == l.Epoch && w.again.Stream < l.Stream) {
		w.judge.TakeAgain(*w.again)
		w.report.SeenAgain++
		if err := w.nextAgain(); err != nil {
			return err
		}
	}
	return nil
}
