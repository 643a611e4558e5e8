package export

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

// FuzzCheck gives bundles other files, with hashes that fit. Whatever they hold:
// what is VERIFIED is records of the ledger, each below the index of its leaf.
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
			checkpointFile: bundle.files[checkpointFile], keyFile: bundle.files[keyFile], pageFile: "",
		}}
		r := check(t, o.close(t), CheckOptions{Key: e.key})
		if (r.Integrity == ledger.Verified) != (r.ProblemCount == 0) || r.Exit == ledger.ExitVerified && r.Completeness != ledger.Complete {
			t.Errorf("the report contradicts itself: %+v", r)
		}
		if r.Integrity != ledger.Verified {
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
