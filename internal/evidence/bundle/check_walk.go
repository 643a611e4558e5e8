package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

type walk struct {
	*checker
	leaves, records, subtrees, seen *lineReader
	closers                         []io.Closer

	fold    fold
	export  *verifier.ExportChecker
	again   *ledger.Repetition // next repetition
	seals   seals              // last seals of the run
	page    rebuiltPage
	trusted *tlog.Hash // root at the trusted checkpoint's size
	last    int64
}

func (c *checker) newWalk() (w *walk, err error) {
	w = &walk{
		checker: c, export: verifier.NewExportChecker(c.report.Bundle.extent(), c.newest.Tenant, c.keys, c.issuers),
		seals: make(seals), last: -1,
	}
	if w.page, err = c.rebuildPage(); err != nil {
		return nil, err
	}
	w.export.Without(c.foreign)
	if said := c.report.Bundle.Window; c.report.Attested && said != nil {
		w.export.Ignore(said.Foreign)
	}
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

func (w *walk) close() {
	for _, c := range w.closers {
		_ = c.Close()
	}
}

func (w *walk) all(ctx context.Context) error {
	err := w.read(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || w.report.ProblemCount > 0 {
		if err != nil {
			w.report.AddProblem("%v", err)
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

func (w *walk) leaf(text []byte) error {
	l, err := parseLeafLine(text)
	if err != nil {
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
	taken := verifier.ExportedRecord{
		Index: l.Index, Leaf: leaf, Bytes: record, Epoch: l.Epoch, Stream: l.Stream, Stored: l.Stored,
		Removal: ledger.Removal{Word: l.Removed, Order: l.Order},
	}
	ordered := w.export.ExpectsOrder(l.Index)
	if err := w.export.Add(taken); err != nil {
		w.report.AddProblem("leaf %d: %v", l.Index, err)
	}
	if !ordered && !w.selected(l.Index, leaf, l.Stored) {
		w.report.AddProblem("leaf %d is not of what was selected", l.Index)
	}
	w.count(leaf.Class)
	w.report.TimeStamps.Count(l.Index)
	w.seals.add(w.report.Bundle.Run, leaf)
	return w.page.add(entryOf(l, leaf, record))
}

func entryOf(l leafLine, leaf ledger.Leaf, record []byte) ledger.Entry {
	return ledger.Entry{
		Leaf: l.Index, Class: leaf.Class, Finding: leaf.Finding, ID: leaf.ID, Producer: leaf.Producer, Sequence: leaf.Sequence,
		Run: leaf.Run, Kind: leaf.Kind, Time: leaf.Time, Epoch: l.Epoch, StreamSequence: l.Stream, Stored: l.Stored,
		Hash: leaf.Hash, Bytes: record, Removal: ledger.Removal{Word: l.Removed, Order: l.Order},
	}
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

func (w *walk) selected(index int64, l ledger.Leaf, stored time.Time) bool {
	a, at := w.report.Bundle, l.Time
	if a.Times == storedTimes {
		at = stored
	}
	if w.export.SetsRule(index) || a.extent() == verifier.WholeRun && l.Class == ledger.ClassManifest {
		return true
	}
	return (a.Run == "" || l.Run == a.Run) &&
		(a.From.IsZero() || !at.IsZero() && !at.Before(a.From)) &&
		(a.To.IsZero() || !at.IsZero() && at.Before(a.To))
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

func (w *walk) compareHere() {
	if t := w.checker.trusted; t != nil && t.Size == w.fold.size {
		root := w.fold.root()
		w.trusted = &root
	}
}

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
		w.report.AddProblem("the root of the leaves and the tree differs from the signed one")
	}
	if a := w.report.Bundle; a.Leaves != w.report.Leaves {
		w.report.AddProblem("%s says that there are %d leaves, and there are %d", aboutFile, a.Leaves, w.report.Leaves)
	}
	if err := w.agrees(); err != nil || w.report.Bundle.extent() != verifier.WholeLedger {
		return err
	}
	if w.report.Leaves != w.newest.Size {
		w.report.AddProblem("%d of the %d leaves of the ledger are missing", w.newest.Size-w.report.Leaves, w.newest.Size)
	} else if count, digest := w.export.Arrivals(); count != w.newest.Arrivals || digest != w.newest.Digest {
		w.report.AddProblem("where leaves came from, or what was seen again, differs from what was signed")
	}
	return nil
}

func (w *walk) nothingLeft() error {
	for _, err := range w.export.MissingOrders() {
		w.report.AddProblem("%v", err)
	}
	for name, lines := range map[string]*lineReader{recordsFile: w.records, treeFile: w.subtrees, againFile: w.seen} {
		if _, more, err := lines.next(); err != nil || more {
			return fmt.Errorf("%s: there is more than belongs to the leaves", name)
		}
	}
	return nil
}

func (w *walk) nextAgain() error {
	w.again = nil
	line, ok, err := w.seen.next()
	if err == nil && ok {
		var a ledger.Repetition
		a, err = parseRepetition(line)
		w.again = &a
	}
	if err != nil {
		return fmt.Errorf("%s: %w", againFile, err)
	}
	return nil
}

func (w *walk) againBefore(l leafLine) error {
	for w.again != nil && (w.again.Epoch < l.Epoch || w.again.Epoch == l.Epoch && w.again.Stream < l.Stream) {
		w.export.AddRepetition(*w.again)
		w.report.SeenAgain++
		if err := w.nextAgain(); err != nil {
			return err
		}
	}
	return nil
}
