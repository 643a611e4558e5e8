package bundle

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

//guarantee:bundle-proof
func TestProve_IsTheLedgersProof(t *testing.T) {
	e := mixed().write(t)
	for _, s := range []ledger.Selection{{}, {Run: "r1"}, {Run: "r3"}, {From: began.Add(5e9), To: began.Add(9e9)}} {
		path, proved := e.bundle(t, s), 0
		s.Events = true
		for entry, err := range e.reader.Select(t.Context(), s) {
			if err != nil {
				t.Fatal(err)
			}
			want, err := e.reader.Tree().Prove(t.Context(), entry.Leaf)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Prove(t.Context(), path, entry.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v: leaf %d (-ledger +bundle):\n%s", s, entry.Leaf, diff)
			}
			proved++
		}
		if proved == 0 {
			t.Errorf("%+v: nothing was proved", s)
		}
		if _, err := Prove(t.Context(), path, "none"); !errors.Is(err, ledger.ErrNoLeaf) {
			t.Errorf("%+v: an event that is not there: got %v", s, err)
		}
	}
}

// The proof of an erased event stays valid.
func TestProve_Erased(t *testing.T) {
	e, _ := erased(t)
	path, proved := e.bundle(t, ledger.Selection{Run: "r-1"}), 0
	for entry, err := range e.reader.Run(t.Context(), "r-1") {
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.reader.Tree().Prove(t.Context(), entry.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Prove(t.Context(), path, entry.ID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("leaf %d: %v (-ledger +bundle):\n%s", entry.Leaf, err, diff)
		}
		if entry.Removal.Done() {
			proved++
		}
	}
	if proved == 0 {
		t.Error("nothing that was erased was proved")
	}
}

//guarantee:bundle-proof
func TestProve_RefusesDamage(t *testing.T) {
	e := mixed().write(t)
	path := e.bundle(t, ledger.Selection{Run: "r1"})
	var id string
	for entry, err := range e.reader.Run(t.Context(), "r1") {
		if err != nil {
			t.Fatal(err)
		}
		id = entry.ID
	}
	for _, tt := range []struct{ name, file, from, to string }{
		{"Leaf", leavesFile, "kind run.started", "kind run.finished"},
		{"NoLeaf", leavesFile, "{", ""},
		{"LeafTwice", leavesFile, "\n", "\n{\"index\":0,\"leaf\":\"\",\"epoch\":1,\"stream\":1}\n"},
		{"Subtree", treeFile, "A", "B"},
		{"NoTree", treeFile, " ", "  "},
		{"Checkpoint", checkpointFile, "\n", "\n1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := open(t, path)
			before := o.files[tt.file]
			o.files[tt.file] = strings.Replace(before, tt.from, tt.to, 1)
			if o.files[tt.file] == before {
				t.Fatal("nothing was changed")
			}
			if p, err := Prove(t.Context(), o.close(t), id); err == nil {
				t.Errorf("got a proof of leaf %d", p.Index)
			}
		})
	}
	if err := os.WriteFile(path, []byte("no zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Prove(t.Context(), path, id); err == nil {
		t.Error("no bundle at all: no error")
	}
}

// The path through any tree of leaves and subtrees is that of x/mod.
//
//guarantee:bundle-proof
func TestSiblings_AnyTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 70).Draw(t, "size")
		leaf := rapid.Int64Range(0, size-1).Draw(t, "leaf")
		known := rapid.SliceOfN(rapid.Bool(), int(size), int(size)).Draw(t, "known")
		known[leaf] = true
		var stored memory
		for i := range size {
			hashes, err := tlog.StoredHashes(i, []byte{byte(i)}, stored)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, hashes...)
		}
		beside := newSiblings(leaf, size)
		add := func(s subtree) {
			if err := beside.add(s, stored[tlog.StoredHashIndex(s.level, s.index)]); err != nil {
				t.Fatal(err)
			}
		}
		from := int64(0)
		for i := range size {
			if known[i] {
				for _, s := range (span{from, i}).subtrees() {
					add(s)
				}
				add(subtree{0, i})
				from = i + 1
			}
		}
		for _, s := range (span{from, size}).subtrees() {
			add(s)
		}
		got, err := beside.hashes()
		if err != nil {
			t.Fatal(err)
		}
		want, err := tlog.ProveRecord(size, leaf, stored)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]tlog.Hash(want), got); diff != "" && len(got)+len(want) > 0 {
			t.Fatalf("path (-want +got):\n%s", diff)
		}
	})
}

// memory is a tree in the hash order of x/mod.
type memory []tlog.Hash

func (m memory) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		hashes[i] = m[at]
	}
	return hashes, nil
}
