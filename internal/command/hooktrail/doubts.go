package hooktrail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// By default, run show verifies only ledgers with at most maxChecked leaves.
const maxChecked = 100_000

// doubts contains the records of a ledger that may be from another writer than the named producer.
type doubts struct {
	byLeaf    map[int64][]runtree.Doubt
	unchecked string // why the search is missing or incomplete, or empty
}

// readDoubts finds foreign records. For this, it verifies the ledger, which checks the manifests of
// all producers. If always is false, it skips a large ledger.
func readDoubts(ctx context.Context, r *ledger.Reader, dataDir string, always bool) (doubts, error) {
	d := doubts{byLeaf: make(map[int64][]runtree.Doubt)}
	newest, err := r.Newest(ctx)
	if err != nil {
		return d, err
	}
	if newest.Size > maxChecked && !always {
		d.unchecked = fmt.Sprintf("the ledger has %d leaves; --check verifies it first, which takes longer", newest.Size)
		return d, nil
	}
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		d.unchecked = "the data directory has no keys/ledger.pub"
		return d, nil
	}
	if err != nil {
		return d, err
	}
	report, err := verifier.Verify(ctx, r.Path(), verifier.Options{
		Key: key, Changes: ledger.ReadRotations(auditor.KeyDir(dataDir)), Tenant: r.Tenant(),
	})
	if err != nil {
		return d, err
	}
	d.add(report)
	return d, nil
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
	for _, f := range r.Findings {
		if f.RecordedTwice || f.First == nil {
			continue
		}
		d.put(*f.First, runtree.Contradicted, fmt.Sprintf("leaf %d has the same id or number and other content", f.Leaf))
	}
	for _, f := range r.Foreign {
		d.put(f.Leaf, runtree.Foreign, f.Reason)
	}
	if r.ForeignCount > int64(len(r.Foreign)) || r.SetApart > int64(len(r.Findings)) {
		d.unchecked = "the ledger has more such records than auditor verify lists"
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
		fmt.Fprintf(w, "%s\n", paint.Warn("not marked: foreign records: "+t.Unchecked))
	}
}
