package hooktrail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxChecked = 100_000

type doubts struct {
	byLeaf   map[int64][]runtree.Doubt
	setApart map[string][]setApart // by run

	integrity  verifier.Integrity // empty if the ledger was not verified
	problems   []string           // the first problems
	unchecked  string             // why the search is missing or incomplete, or empty
	incomplete bool
}

type setApart struct {
	runtree.Doubt
	first int64 // leaf of the first record with its id or number
}

func readDoubts(ctx context.Context, r *ledger.Reader, dataDir string, always bool) (doubts, error) {
	d := doubts{byLeaf: make(map[int64][]runtree.Doubt), setApart: make(map[string][]setApart)}
	newest, err := r.Newest(ctx)
	if err != nil {
		return d, err
	}
	if newest.Size > maxChecked && !always {
		d.unchecked = fmt.Sprintf("the ledger has %d leaves; --check verifies it first, which takes longer", newest.Size)
		err := d.checkLeaves(ctx, r)
		return d, err
	}
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		d.unchecked = "the data directory has no keys/ledger.pub"
		err := d.checkLeaves(ctx, r)
		return d, err
	}
	if err != nil {
		return d, err
	}
	report, err := verifier.Verify(ctx, r.Path(), verifier.Options{
		Key: key, Changes: ledger.ReadRotations(auditor.KeyDir(dataDir)), Tenant: r.Tenant(), Doubts: true,
	})
	if err != nil {
		return d, err
	}
	d.add(report)
	return d, nil
}

func (d *doubts) checkLeaves(ctx context.Context, r *ledger.Reader) error {
	err := r.CheckLeaves(ctx)
	if missing, ok := alteredRecord(err); ok {
		d.integrity, d.problems, err = verifier.Invalid, []string{missing.Error()}, nil
	}
	return err
}

func readChecked(ctx context.Context, r *ledger.Reader, name, dataDir string, always bool) (runTrace, error) {
	if _, err := findRun(ctx, r, name); err != nil {
		return runTrace{}, err
	}
	d, err := readDoubts(ctx, r, dataDir, always)
	if err != nil {
		return runTrace{}, err
	}
	return readTrace(ctx, r, name, d)
}

func (d *doubts) add(r verifier.Report) {
	d.integrity, d.problems = r.Integrity, r.Problems
	if r.Doubts == nil { // the file is too damaged
		return
	}
	for _, f := range r.Doubts.Claims {
		if f.First == nil {
			continue
		}
		d.put(*f.First, runtree.Contradicted, fmt.Sprintf("leaf %d has the same id or number and other content", f.Leaf))
		d.setApart[f.Run] = append(d.setApart[f.Run], setApart{runtree.Doubt{
			Leaf: f.Leaf, ID: f.ID, Kind: f.Kind, Status: runtree.Contradicted,
			Reason: fmt.Sprintf("not shown, because leaf %d of another run has the same id or number and other content", *f.First),
		}, *f.First})
	}
	for _, f := range r.Doubts.Foreign {
		d.put(f.Leaf, runtree.Foreign, f.Reason)
	}
	if r.Doubts.Incomplete {
		d.unchecked, d.incomplete = "the ledger has too many of them: auditor verify counts them", true
	}
}

func foldRun(ctx context.Context, r *ledger.Reader, run string, fold *runtree.Fold, d doubts) error {
	doubtful := make(map[int64]events.Event)
	for entry, err := range r.Run(ctx, run) {
		if wrong, ok := alteredRecord(err); ok {
			addAltered(fold, entry, wrong)
			continue
		}
		if err != nil {
			return err
		}
		e, err := entry.Event()
		if err != nil {
			return fmt.Errorf("leaf %d of run %q: %w", entry.Leaf, run, err)
		}
		if entry.Removal.Done() {
			fold.AddRemoved(e, string(entry.Removal.Word))
		} else {
			fold.Add(e)
		}
		if len(d.byLeaf[entry.Leaf]) > 0 {
			doubtful[entry.Leaf] = e
		}
	}
	d.mark(fold, run, doubtful)
	return nil
}

func (d *doubts) mark(fold *runtree.Fold, run string, leaves map[int64]events.Event) {
	for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
		for _, doubt := range d.byLeaf[leaf] {
			fold.Doubt(leaves[leaf], doubt)
		}
	}
	for _, one := range d.setApart[run] {
		if _, ok := leaves[one.first]; !ok {
			fold.SetApart(run, one.Doubt)
		}
	}
}

func (d *doubts) put(leaf int64, status, reason string) {
	d.byLeaf[leaf] = append(d.byLeaf[leaf], runtree.Doubt{Leaf: leaf, Status: status, Reason: reason})
}

func writeDoubts(w io.Writer, t runtree.Trace, paint cli.Palette) {
	for one := range t.All() {
		writeRecords(w, one.Doubts, paint)
	}
	if t.Unchecked != "" {
		fmt.Fprintf(w, "%s\n", paint.Warn("not marked: foreign and contradicted records: "+t.Unchecked))
	}
}
