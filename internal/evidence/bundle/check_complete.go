package bundle

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (w *walk) complete() error {
	r, extent := &w.report, w.report.Bundle.extent()
	if err := w.export.CompareFirst(w.exported()); err != nil {
		return err
	}
	if extent == verifier.TimeRange {
		r.Redacted = w.export.Redacted()
		w.window()
		return nil
	}
	again := linesOf(w.checker, againFile, parseRepetition)
	if err := w.export.Conclude(&r.Report, w.newest, w.opts.Silence, linesOf(w.checker, leavesFile, parseLeaf), again); err != nil {
		return err
	}
	w.found = w.export.Foreign()
	switch {
	case extent != verifier.WholeRun:
		w.silent(r.Bundle.SilentProducers)
	case r.Attested && r.Bundle.Window != nil:
		w.runOfLedger()
	default:
		w.runAlone()
	}
	r.doubt(!r.Attested, "the selection is not attested, so records may be missing: verify the ledger, or export it again")
	// Acknowledgements in an unsigned bundle could be forged, so they do not count.
	for _, o := range r.Bundle.Acknowledged {
		if extent == verifier.WholeRun && r.Attested {
			w.export.Acknowledge(o.Leaf, o.Order)
		}
	}
	w.export.Matters(&r.Report)
	r.Redacted = w.export.Redacted()
	return nil
}

// runAlone sets the verdict on a run without the ledger's verdict, because an unsigned bundle could
// contain a forged one.
func (w *walk) runAlone() {
	r := &w.report
	if w.silent(r.Bundle.SilentProducers); r.Attested {
		r.NotProven = notProvenOfPart + r.NotProven
	} else {
		r.NotProven = notProvenOfRun + r.NotProven
	}
	if len(r.Bundle.Gaps) > 0 {
		r.Gaps, r.Completeness = append(r.Gaps, r.Bundle.Gaps...), verifier.Gaps
	}
	w.absent(r.Bundle.Absent)
	r.doubt(r.Runs.Sealed+len(r.Unsealed) == 0 || r.Bundle.Unsealed && len(r.Unsealed) == 0, withoutEnd)
}

// runOfLedger takes the signed verdict of the ledger, and adds the gaps that the producers' seals
// reveal. A thief of the ledger's key could forge the verdict, but not the seals.
func (w *walk) runOfLedger() {
	r := &w.report
	own := r.Gaps
	w.takeOver()
	hasNoEnd := r.Runs.Sealed+len(r.Unsealed) == 0
	r.Doubtful = hasNoEnd || len(r.Unproven) > 0
	if hasNoEnd {
		r.doubts = append(r.doubts, withoutEnd)
	}
	for _, g := range own {
		if g.Cause == verifier.CauseSeal && !slices.Contains(r.Gaps, g) {
			r.Gaps, r.Completeness = append(r.Gaps, g), verifier.Gaps
		}
	}
}

const withoutEnd = "nothing in the bundle proves that the run has ended: export it again after the end of the run"

func (r *Report) doubt(isDoubtful bool, reason string) {
	if !isDoubtful {
		return
	}
	r.Doubtful, r.doubts = true, append(r.doubts, reason)
	if r.Completeness == verifier.Complete {
		r.Completeness = verifier.Unproven
	}
}

func (w *walk) silent(names []string) {
	r := &w.report
	for i := range r.Producers {
		r.Producers[i].SilentSinceBreak = r.Producers[i].SilentSinceBreak || slices.Contains(names, r.Producers[i].Name)
	}
	if len(names) > 0 && r.Completeness == verifier.Complete {
		r.Completeness = verifier.Unproven
	}
}

func (w *walk) exported() iter.Seq2[verifier.ExportedRecord, error] {
	return func(yield func(verifier.ExportedRecord, error) bool) {
		next, stop := iter.Pull2(linesOf(w.checker, recordsFile, parseRecord))
		defer stop()
		for l, err := range linesOf(w.checker, leavesFile, parseLeafLine) {
			k := verifier.ExportedRecord{Index: l.Index, Removal: ledger.Removal{Word: l.Removed, Order: l.Order}}
			if err == nil {
				k.Leaf, err = ledger.ParseLeaf(l.bytes())
			}
			if err == nil {
				k.Bytes, err, _ = next()
			}
			if !yield(k, err) || err != nil {
				return
			}
		}
	}
}

func (w *walk) absent(list []Absent) {
	r := &w.report
	for _, a := range list {
		for i := range r.Producers {
			if p := &r.Producers[i]; p.Name == a.Producer {
				p.Heard, p.Lost, p.Silent = a.Heard, a.Lost, a.Lost == nil
			}
		}
	}
	if len(list) > 0 && r.Completeness == verifier.Complete {
		r.Completeness = verifier.Unproven
	}
}

func linesOf[T any](c *checker, name string, parse func([]byte) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		fail := func(err error) {
			var none T
			yield(none, fmt.Errorf("%s: %w", name, err))
		}
		in, err := c.files[name].Open()
		if err != nil {
			fail(err)
			return
		}
		defer func() { _ = in.Close() }()
		for lines := newLineReader(in); ; {
			line, ok, err := lines.next()
			var v T
			if err == nil && ok {
				v, err = parse(line)
			}
			if err != nil {
				fail(err)
				return
			}
			if !ok || !yield(v, nil) {
				return
			}
		}
	}
}
