package bundle

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// complete comes to the second verdict.
func (w *walk) complete() error {
	r, about := &w.report, w.report.Bundle
	if _, ok := about.extent(); !ok {
		r.Redacted = ofPart(w.judge.Redacted())
		return nil // a range of time cuts runs in two
	}
	if err := w.judge.Conclude(&r.Report, w.newest, w.opts.Silence, w.leavesAgain(), w.seenAgain()); err != nil {
		return err
	}
	w.unheard(about.Unheard)
	if about.isRun() {
		r.Redacted = ofPart(r.Redacted)
		r.NotProven = notProvenOfRun + r.NotProven
		// Who cuts off the end of a run makes one that goes on.
		if r.Completeness == verifier.Complete && r.Runs.Sealed == 0 {
			r.Completeness = verifier.Unproven
		}
	}
	return nil
}

// unheard has the report say of which producers nothing came since the stream broke
// off: nobody can tell whether they sent more.
func (w *walk) unheard(names []string) {
	r := &w.report
	for i := range r.Producers {
		r.Producers[i].Unheard = r.Producers[i].Unheard || slices.Contains(names, r.Producers[i].Name)
	}
	if len(names) > 0 && r.Completeness == verifier.Complete {
		r.Completeness = verifier.Unproven
	}
}

// ofPart leaves open what a part of a ledger does not tell of holds.
func ofPart(r verifier.Redacted) verifier.Redacted {
	r.Holds, r.Part = 0, true
	for i := range r.Orders {
		r.Orders[i].InForce = false
	}
	return r
}

// leavesAgain reads the leaves once more.
func (w *walk) leavesAgain() iter.Seq2[ledger.Leaf, error] {
	return linesOf(w.checker, leavesFile, func(line []byte) (ledger.Leaf, error) {
		var l leafLine
		if err := parseLine(line, &l); err != nil {
			return ledger.Leaf{}, err
		}
		return ledger.ParseLeaf(l.bytes())
	})
}

func (w *walk) seenAgain() iter.Seq2[ledger.Again, error] {
	return linesOf(w.checker, againFile, func(line []byte) (ledger.Again, error) {
		var l againLine
		if err := parseLine(line, &l); err != nil {
			return ledger.Again{}, err
		}
		return l.again()
	})
}

// linesOf yields what the lines of a file say.
func linesOf[T any](c *checker, name string, parse func([]byte) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		in, err := c.files[name].Open()
		if err != nil {
			yield(none, fmt.Errorf("%s: %w", name, err))
			return
		}
		defer func() { _ = in.Close() }() // read only
		for lines := newLineReader(in); ; {
			line, ok, err := lines.next()
			if err != nil || !ok {
				if err != nil {
					yield(none, fmt.Errorf("%s: %w", name, err))
				}
				return
			}
			v, err := parse(line)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}
