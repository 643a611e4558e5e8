package transparency

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
)

// memory is a tree in memory, computed by x/mod alone.
type memory struct {
	size   int64
	hashes []tlog.Hash
}

func (m *memory) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		found[i] = m.hashes[n]
	}
	return found, nil
}

func record(n int64) []byte { return fmt.Appendf(nil, "record %d", n) }

func tree(tb testing.TB, size int64) (*memory, tlog.Hash) {
	tb.Helper()
	m := new(memory)
	for ; m.size < size; m.size++ {
		hashes, err := tlog.StoredHashes(m.size, record(m.size), m)
		if err != nil {
			tb.Fatal(err)
		}
		m.hashes = append(m.hashes, hashes...)
	}
	root, err := tlog.TreeHash(size, m)
	if err != nil {
		tb.Fatal(err)
	}
	return m, root
}

func proofOf(tb testing.TB, m *memory, n int64) Proof {
	tb.Helper()
	path, err := tlog.ProveRecord(m.size, n, m)
	if err != nil {
		tb.Fatal(err)
	}
	return Proof{Extra: record(n), Index: n, Path: path, Checkpoint: []byte("log\n1\nx\n\n— log sig\n")}
}

func TestProof_RoundTripsAndProves(t *testing.T) {
	for _, size := range []int64{1, 2, 7, 256, 300} {
		m, root := tree(t, size)
		for n := range size {
			want := proofOf(t, m, n)
			got, err := ParseProof(want.Encode())
			if err != nil {
				t.Fatalf("record %d of %d: %v", n, size, err)
			}
			if len(want.Path) == 0 {
				want.Path = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("record %d of %d (-want +got):\n%s", n, size, diff)
			}
			if err := got.Check(record(n), size, root); err != nil {
				t.Fatalf("record %d of %d: %v", n, size, err)
			}
			if err := got.Check(record(n+1), size, root); err == nil {
				t.Fatalf("record %d of %d proves another record", n, size)
			}
		}
	}
}

func TestProof_CheckRefuses(t *testing.T) {
	m, root := tree(t, 9)
	p := proofOf(t, m, 3)
	for name, change := range map[string]func(*Proof){
		"AnotherIndex":   func(p *Proof) { p.Index = 4 },
		"BehindTheTree":  func(p *Proof) { p.Index = 9 },
		"HashMissing":    func(p *Proof) { p.Path = p.Path[1:] },
		"HashTooMany":    func(p *Proof) { p.Path = append(slices.Clip(p.Path), root) },
		"HashesSwapped":  func(p *Proof) { p.Path = []tlog.Hash{p.Path[1], p.Path[0], p.Path[2], p.Path[3]} },
		"NoHashesAtAll":  func(p *Proof) { p.Path = nil },
		"AnotherSibling": func(p *Proof) { p.Path = append([]tlog.Hash{root}, p.Path[1:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			changed := p
			change(&changed)
			if err := changed.Check(record(3), 9, root); err == nil {
				t.Error("it was taken")
			}
		})
	}
	if err := p.Check(record(3), 8, root); err == nil {
		t.Error("a tree of another size was taken")
	}
}

func TestParseProof_Refuses(t *testing.T) {
	m, _ := tree(t, 5)
	good := string(proofOf(t, m, 2).Encode())
	for name, text := range map[string]string{
		"Empty":         "",
		"OtherVersion":  strings.Replace(good, "@v1", "@v2", 1),
		"NoIndex":       strings.Replace(good, "index 2\n", "", 1),
		"NegativeIndex": strings.Replace(good, "index 2", "index -2", 1),
		"LeadingZero":   strings.Replace(good, "index 2", "index 02", 1),
		"Carriage":      strings.ReplaceAll(good, "\n", "\r\n"),
		"ExtraNoBase64": strings.Replace(good, "extra ", "extra !", 1),
		"ExtraTwice":    strings.Replace(good, "index 2", "extra AAAA\nindex 2", 1),
		"ExtraEmpty":    strings.Replace(good, good[strings.Index(good, "extra "):strings.Index(good, "index")], "extra \n", 1),
		"NoEmptyLine":   strings.Replace(good, "\n\n", "\n", 1),
		"TooLarge":      good + strings.Repeat("x", maxProofBytes),
		"TooManyHashes": strings.Replace(good, "index 2\n", "index 2\n"+strings.Repeat(tlog.Hash{}.String()+"\n", 64), 1),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "NoEmptyLine" {
				text, _, _ = strings.Cut(text, "\nlog\n")
			}
			if p, err := ParseProof([]byte(text)); err == nil {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// An accepted proof encodes to the same bytes.
func FuzzParseProof(f *testing.F) {
	m, _ := tree(f, 5)
	f.Add(proofOf(f, m, 2).Encode())
	f.Add(Proof{Checkpoint: []byte("x")}.Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseProof(text)
		if err == nil && !bytes.Equal(p.Encode(), text) {
			t.Errorf("%q is written as %q", text, p.Encode())
		}
	})
}
