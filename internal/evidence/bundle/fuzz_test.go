package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// FuzzCheck replaces files of bundles and repairs the hashes. A bundle that still verifies has only
// records of the ledger, at their leaves.
func FuzzCheck(f *testing.F) {
	e := mixed().write(f)
	bundle := open(f, e.bundle(f, ledger.Selection{Run: "r2"}))
	other := open(f, e.bundle(f, ledger.Selection{Run: "r3"}))
	all := open(f, e.bundle(f, ledger.Selection{})).files[recordsFile]
	for _, o := range []opened{bundle, other} {
		f.Add(o.files[aboutFile], o.files[leavesFile], o.files[recordsFile], o.files[againFile], o.files[treeFile])
	}
	f.Add(bundle.files[aboutFile], bundle.files[leavesFile], other.files[recordsFile], "", "")
	f.Fuzz(func(t *testing.T, about, leaves, records, again, tree string) {
		o := opened{names: bundle.names, files: map[string]string{
			aboutFile: about, leavesFile: leaves, recordsFile: records, againFile: again, treeFile: tree,
			checkpointFile: bundle.files[checkpointFile], keyFile: bundle.files[keyFile], pageFile: bundle.files[pageFile],
			selectionFile: bundle.files[selectionFile],
		}}
		if about == other.files[aboutFile] {
			o.files[pageFile], o.files[selectionFile] = other.files[pageFile], ""
		}
		r := check(t, o.close(t), CheckOptions{Key: e.key})
		if (r.Integrity == verifier.Verified) != (r.ProblemCount == 0) || r.Exit == verifier.ExitVerified && r.Completeness != verifier.Complete {
			t.Errorf("the report contradicts itself: %+v", r)
		}
		if r.Integrity != verifier.Verified {
			return
		}
		rest := all
		for line := range strings.Lines(records) {
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Fatalf("VERIFIED with a record that the ledger has not, or in another order: %q", line)
			}
			rest = after
		}
	})
}

// FuzzProve replaces the leaves and the tree. Any proof equals that of the ledger.
func FuzzProve(f *testing.F) {
	e := mixed().write(f)
	bundle := open(f, e.bundle(f, ledger.Selection{Run: "r2"}))
	other := open(f, e.bundle(f, ledger.Selection{Run: "r3"}))
	var id string
	for entry, err := range e.reader.Run(f.Context(), "r2") {
		if err != nil {
			f.Fatal(err)
		}
		id = entry.ID
	}
	for _, o := range []opened{bundle, other} {
		f.Add(id, o.files[leavesFile], o.files[treeFile])
	}
	f.Add(id, bundle.files[leavesFile], other.files[treeFile])
	f.Fuzz(func(t *testing.T, id, leaves, tree string) {
		bundle.files[leavesFile], bundle.files[treeFile] = leaves, tree
		got, err := Prove(t.Context(), bundle.close(t), id)
		if err != nil {
			return
		}
		want, err := e.reader.Tree().Prove(t.Context(), got.Index)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("proof (-ledger +bundle):\n%s", diff)
		}
	})
}
