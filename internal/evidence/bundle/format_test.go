package bundle

import (
	"bytes"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// FuzzParseSubtree checks that parsed lines encode to the same bytes.
func FuzzParseSubtree(f *testing.F) {
	f.Add(bytes.TrimSuffix(appendSubtree(nil, subtree{3, 5}, tlog.RecordHash(nil)), []byte("\n")))
	f.Add([]byte("0 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
	f.Add([]byte("62 1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
	f.Add([]byte("+1 01 x"))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, hash, err := parseSubtree(line)
		if err != nil {
			return
		}
		if again := appendSubtree(nil, s, hash); !bytes.Equal(again, append(bytes.Clone(line), '\n')) {
			t.Errorf("%q is read as %q", line, again)
		}
		var fold fold
		if err := fold.add(s, hash); (err == nil) != (s.index == 0) || fold.size < 0 {
			t.Errorf("%q: %v, size %d", line, err, fold.size)
		}
	})
}

// FuzzParseRecord checks that parsed lines encode to the same bytes.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte(`"AAAA"`))
	f.Add([]byte(`"AB=="`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if record, err := parseRecord(line); err == nil && !bytes.Equal(appendRecord(nil, record), line) {
			t.Errorf("%q is read as %q", line, record)
		}
		written := appendRecord(nil, line)
		if record, err := parseRecord(written); err != nil || !bytes.Equal(record, line) || bytes.ContainsAny(written, "\r\n") {
			t.Errorf("%q is written as %q and read as %q, %v", line, written, record, err)
		}
	})
}

// The root computed from any leaves and the subtrees between them is that of x/mod/sumdb/tlog.
func TestFold_AnySelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 200).Draw(t, "size")
		chosen := rapid.SliceOfN(rapid.Bool(), int(size), int(size)).Draw(t, "chosen")
		var stored []tlog.Hash
		read := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
			for _, i := range indexes {
				list = append(list, stored[i])
			}
			return list, nil
		})
		for i := range size {
			hashes, err := tlog.StoredHashes(i, []byte{byte(i)}, read)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, hashes...)
		}
		var f fold
		add := func(s subtree) {
			if err := f.add(s, stored[tlog.StoredHashIndex(s.level, s.index)]); err != nil {
				t.Fatal(err)
			}
		}
		next := int64(0)
		for i := range size {
			if !chosen[i] {
				continue
			}
			for _, s := range (span{next, i}).subtrees() {
				add(s)
			}
			add(subtree{0, i})
			next = i + 1
		}
		for _, s := range (span{next, size}).subtrees() {
			add(s)
		}
		want, err := tlog.TreeHash(size, read)
		if err != nil || f.root() != want || f.size != size {
			t.Errorf("got %v of %d, want %v of %d, %v", f.root(), f.size, want, size, err)
		}
	})
}
