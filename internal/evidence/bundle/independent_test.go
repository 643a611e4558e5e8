package bundle

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// stranger reads bundles by docs/formats.md and golang.org/x/mod/sumdb, without code of this
// package.
type stranger struct {
	known map[int64]tlog.Hash // by index of a stored hash
	index []int64             // of the leaves
}

func readAsStranger(tb testing.TB, files map[string]string) stranger {
	tb.Helper()
	s := stranger{known: make(map[int64]tlog.Hash)}
	for line := range strings.Lines(files["tree.txt"]) {
		fields := strings.Fields(line)
		level, err := strconv.Atoi(fields[0])
		index, err2 := strconv.ParseInt(fields[1], 10, 64)
		hash, err3 := base64.StdEncoding.DecodeString(fields[2])
		if err != nil || err2 != nil || err3 != nil {
			tb.Fatal(line)
		}
		s.known[tlog.StoredHashIndex(level, index)] = tlog.Hash(hash)
	}
	for line := range strings.Lines(files["leaves.jsonl"]) {
		var l struct {
			Index int64
			Leaf  string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			tb.Fatal(err)
		}
		s.known[tlog.StoredHashIndex(0, l.Index)] = tlog.RecordHash([]byte(l.Leaf))
		s.index = append(s.index, l.Index)
	}
	return s
}

// ReadHashes implements [tlog.HashReader].
func (s stranger) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		h, ok := s.known[at]
		if !ok {
			level, n := tlog.SplitStoredHashIndex(at)
			if level == 0 {
				return nil, fmt.Errorf("leaf %d is not in the bundle", n)
			}
			below, err := s.ReadHashes([]int64{tlog.StoredHashIndex(level-1, 2*n), tlog.StoredHashIndex(level-1, 2*n+1)})
			if err != nil {
				return nil, err
			}
			h = tlog.NodeHash(below[0], below[1])
		}
		hashes[i] = h
	}
	return hashes, nil
}

// Go's checksum database library can prove each record.
//
//guarantee:bundle
func TestBundle_ProvesWithoutUs(t *testing.T) {
	e := mixed().write(t)
	for _, selection := range []ledger.Selection{{}, {Run: "r1"}, {Run: "r2"}, {Run: "r3"}} {
		files := open(t, e.bundle(t, selection)).files
		signed, err := note.Open([]byte(files["checkpoint.txt"]), note.VerifierList(e.key))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(signed.Text, "\n")
		size, err := strconv.ParseInt(lines[1], 10, 64)
		root, err2 := base64.StdEncoding.DecodeString(lines[2])
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		s := readAsStranger(t, files)
		for _, index := range s.index {
			leaf := s.known[tlog.StoredHashIndex(0, index)]
			proof, err := tlog.ProveRecord(size, index, s)
			if err == nil {
				err = tlog.CheckRecord(proof, size, tlog.Hash(root), index, leaf)
			}
			if err != nil {
				t.Errorf("%+v: leaf %d: %v", selection, index, err)
			}
		}
	}
}

// A reader of docs/formats.md can check the signed selection.
//
//guarantee:bundle
func TestBundle_SelectionWithoutUs(t *testing.T) {
	e := mixed().write(t)
	for _, selection := range []ledger.Selection{{}, {Run: "r1"}, {Run: "r2"}} {
		files := open(t, e.bundle(t, selection)).files
		signed, err := note.Open([]byte(files["selection.txt"]), note.VerifierList(e.key))
		if err != nil {
			t.Fatal(err)
		}
		tree := strings.SplitN(files["checkpoint.txt"], "\n", 4)
		want := "hooktrail/selection/v1\norigin " + tree[0] + "\ntree " + tree[1] + " " + tree[2] + "\n"
		if selection.Run != "" {
			want += "run " + selection.Run + "\n"
		}
		for _, f := range []struct {
			line, file string
			counted    bool
		}{
			{"leaves", "leaves.jsonl", true},
			{"again", "again.jsonl", true},
			{"checkpoint", "checkpoint.txt", false},
			{"bundle", "bundle.json", false},
			{"page", "index.html", false},
		} {
			want += f.line + " "
			if f.counted {
				want += strconv.Itoa(strings.Count(files[f.file], "\n")) + " "
			}
			want += fmt.Sprintf("%x\n", sha256.Sum256([]byte(files[f.file])))
		}
		if signed.Text != want {
			t.Errorf("%+v: got\n%swant\n%s", selection, signed.Text, want)
		}
	}
}
