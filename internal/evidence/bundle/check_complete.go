package bundle

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// complete judges completeness. It shares the judgement with the verifier of ledgers.
func (w *walk) complete() error {
	r, about := &w.report, w.report.Bundle
	if _, ok := about.extent(); !ok {
		r.Redacted = ofPart(w.judge.Redacted())
		return nil // a time range can split runs
	}
	if err := w.judge.Conclude(&r.Report, w.newest, w.opts.Silence, w.leavesAgain(), w.seenAgain()); err != nil {
		return err
	}
	w.unheard(about.Unheard)
	if about.isRun() {
		r.Redacted = ofPart(r.Redacted)
		r.NotProven = notProvenOfRun + r.NotProven
		// Without its end a finished run looks like a running one.
		if r.Completeness == verifier.Complete && r.Runs.Sealed == 0 {
			r.Completeness = verifier.Unproven
		}
	}
	return nil
}

// unheard reports the producers that sent nothing after a break of the stream. The
// ledger cannot show whether they sent more events.
func (w *walk) unheard(names []string) {
	r := &w.report
	for i := range r.Producers {
		r.Producers[i].Unheard = r.Producers[i].Unheard || slices.Contains(names, r.Producers[i].Name)
	}
	if len(names) > 0 && r.Completeness == verifier.Complete {
		r.Completeness = verifier.Unproven
	}
}

// ofPart removes statements about legal holds, which a part of a ledger cannot show.
func ofPart(r verifier.Redacted) verifier.Redacted {
	r.Holds, r.Part = 0, true
	for i := range r.Orders {
		r.Orders[i].InForce = false
	}
	return r
}

// leavesAgain reads the leaves a second time.
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

// linesOf parses the lines of a file one by one.
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
