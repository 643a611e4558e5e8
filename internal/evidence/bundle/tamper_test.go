package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type opened struct {
	names []string
	files map[string]string
}

func open(tb testing.TB, path string) opened {
	tb.Helper()
	o := bundletest.Open(tb, path)
	return opened{o.Names, o.Files}
}

func (o opened) close(tb testing.TB) string {
	tb.Helper()
	var sums strings.Builder
	for _, name := range o.names {
		if name != sumsFile {
			h := sha256.Sum256([]byte(o.files[name]))
			sums.WriteString(hex.EncodeToString(h[:]) + "  " + name + "\n")
		}
	}
	o.files[sumsFile] = sums.String()
	return o.pack(tb)
}

func (o opened) pack(tb testing.TB) string {
	tb.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range o.names {
		w, err := z.Create(name)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(w, o.files[name]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return save(tb, out.Bytes())
}

func (o opened) lines(name string, edit func([]string) []string) {
	list := slices.Collect(strings.Lines(o.files[name]))
	o.files[name] = strings.Join(edit(list), "")
}

func remove(i int) func([]string) []string {
	return func(list []string) []string { return slices.Delete(list, i, i+1) }
}

func swap(i, j int) func([]string) []string {
	return func(list []string) []string { list[i], list[j] = list[j], list[i]; return list }
}

// A bundle that was changed at random, with everything repaired that needs no key, is INVALID.
//
//guarantee:verify-bundle
func TestTamper_Repaired(t *testing.T) {
	e := mixed().write(t)
	for _, attack := range []struct {
		name string
		do   func(o opened, n int, r *rand.Rand)
	}{
		{"EditRecord", func(o opened, n int, r *rand.Rand) {
			o.lines(recordsFile, func(list []string) []string {
				i := r.IntN(n)
				list[i] = strings.Replace(list[i], "acme", "acmf", 1)
				if !strings.Contains(list[i], "acmf") {
					list[i] = "\"AAAA\"\n"
				}
				return list
			})
		}},
		{"EditRecordAndItsLeaf", func(o opened, n int, r *rand.Rand) {
			i := r.IntN(n)
			var was, is events.Hash
			o.lines(recordsFile, func(list []string) []string {
				record, err := parseRecord([]byte(strings.TrimSuffix(list[i], "\n")))
				if err != nil {
					panic(err)
				}
				was = events.HashOf(record)
				record = append(slices.Clone(record), ' ')
				is = events.HashOf(record)
				list[i] = string(appendRecord(nil, record)) + "\n"
				return list
			})
			o.files[leavesFile] = strings.Replace(o.files[leavesFile], was.String(), is.String(), 1)
		}},
		{"DeleteLeaf", func(o opened, n int, r *rand.Rand) {
			i := r.IntN(n)
			o.lines(leavesFile, remove(i))
			o.lines(recordsFile, remove(i))
		}},
		{"SwapLeaves", func(o opened, n int, r *rand.Rand) {
			i := r.IntN(n - 1)
			o.lines(leavesFile, swap(i, i+1))
			o.lines(recordsFile, swap(i, i+1))
		}},
		{"SwapRecords", func(o opened, n int, r *rand.Rand) { i := r.IntN(n - 1); o.lines(recordsFile, swap(i, i+1)) }},
		{"DoubleLeaf", func(o opened, n int, r *rand.Rand) {
			i := r.IntN(n)
			double := func(list []string) []string { return slices.Insert(list, i, list[i]) }
			o.lines(leavesFile, double)
			o.lines(recordsFile, double)
		}},
		{"CutShort", func(o opened, n int, r *rand.Rand) {
			name := []string{leavesFile, recordsFile}[r.IntN(2)]
			o.files[name] = o.files[name][:r.IntN(len(o.files[name]))]
		}},
	} {
		t.Run(attack.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for _, s := range []ledger.Selection{{}, {Run: "r1"}} {
				path := e.bundle(t, s)
				for range race.Size(25, 5) {
					o := open(t, path)
					before := strings.Join([]string{o.files[leavesFile], o.files[recordsFile]}, "|")
					attack.do(o, strings.Count(o.files[leavesFile], "\n"), r)
					if before == strings.Join([]string{o.files[leavesFile], o.files[recordsFile]}, "|") {
						t.Fatal("the attack changed nothing")
					}
					if got := check(t, o.close(t), CheckOptions{Key: e.key}); got.Exit != verifier.ExitInvalid {
						t.Fatalf("exit %d, %s, %s", got.Exit, got.Integrity, got.Completeness)
					}
				}
			}
		})
	}
}

//guarantee:verify-bundle
func TestTamper_Selection(t *testing.T) {
	e := mixed().write(t)
	for _, tt := range []struct {
		name string
		of   ledger.Selection
		do   func(o opened)
	}{
		{"RunAsAll", ledger.Selection{Run: "r1"}, func(o opened) {
			o.files[aboutFile] = strings.Replace(o.files[aboutFile], "\n  \"run\": \"r1\",", "", 1)
		}},
		{"AnotherRun", ledger.Selection{Run: "r1"}, func(o opened) {
			o.files[aboutFile] = strings.Replace(o.files[aboutFile], `"r1"`, `"r2"`, 1)
		}},
		{"AllAsRun", ledger.Selection{}, func(o opened) {
			o.files[aboutFile] = strings.Replace(o.files[aboutFile], `"tenant": "acme",`, `"tenant": "acme", "run": "r1",`, 1)
		}},
		{"AnotherTenant", ledger.Selection{}, func(o opened) {
			o.files[aboutFile] = strings.Replace(o.files[aboutFile], `"acme"`, `"other"`, 1)
		}},
		{"SeenAgainLeftOut", ledger.Selection{}, func(o opened) { o.files[againFile] = "" }},
		{"StoredEarlier", ledger.Selection{}, func(o opened) {
			o.files[leavesFile] = strings.Replace(o.files[leavesFile], `"stored":"2026`, `"stored":"2025`, 1)
		}},
		{"TreeEdited", ledger.Selection{Run: "r2"}, func(o opened) {
			line, rest, _ := strings.Cut(o.files[treeFile], "\n")
			o.files[treeFile] = line[:len(line)-44] + strings.Repeat("A", 43) + "=\n" + rest
		}},
		{"TreeTooLong", ledger.Selection{Run: "r2"}, func(o opened) { o.files[treeFile] += "0 9 " + strings.Repeat("A", 43) + "=\n" }},
		{"CheckpointEdited", ledger.Selection{}, func(o opened) {
			o.files[checkpointFile] = strings.Replace(o.files[checkpointFile], "checkpoint ", "checkpoint 1", 1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := open(t, e.bundle(t, tt.of))
			tt.do(o)
			if got := check(t, o.close(t), CheckOptions{Key: e.key}); got.Exit != verifier.ExitInvalid {
				t.Errorf("exit %d: %+v", got.Exit, got)
			}
		})
	}
}

// Leaves of a run are replaced by hashes of the tree, so that the root still matches. The statement
// reveals it, or the seal if there is no statement.
//
//guarantee:verify-bundle-cut
func TestTamper_RunCutShort(t *testing.T) {
	f := newFeed()
	f.run("coder/e4", "r1", 6)
	e := f.write(t)
	for drop := range int64(9) { // run.started, six messages, run.finished and the seal
		o := bundletest.Open(t, e.bundle(t, ledger.Selection{Run: "r1"}))
		o.Drop(func(l bundletest.Leaf) bool { return l.Index == drop })
		if r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
			t.Errorf("without leaf %d: exit %d", drop, r.Exit)
		}
		o.Unsign()
		r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key})
		if r.Integrity != verifier.Verified || len(r.Gaps) == 0 && r.Runs.Sealed > 0 || r.Completeness == verifier.Complete {
			t.Errorf("without leaf %d and statement: got %s, %s: %v", drop, r.Integrity, r.Completeness, r.Problems)
		}
	}
}

//guarantee:export-hostile
func TestTamper_Zip(t *testing.T) {
	e := mixed().write(t)
	path := e.bundle(t, ledger.Selection{Run: "r1"})
	for _, name := range []string{"../../etc/passwd", "/abs", "records.jsonl/", "Records.jsonl", "extra", "leaves.jsonl"} {
		o := open(t, path)
		o.names = append(o.names, name)
		if r := check(t, o.pack(t), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
			t.Errorf("%s beside the others: exit %d", name, r.Exit)
		}
	}
	for _, name := range filesOf(formatV2) {
		o := open(t, path)
		o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
		if r := check(t, o.pack(t), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
			t.Errorf("without %s: exit %d", name, r.Exit)
		}
		o = open(t, path)
		o.files[name] += "x"
		if r := check(t, o.pack(t), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
			t.Errorf("%s without its hash: exit %d", name, r.Exit)
		}
	}
	if r := check(t, save(t, []byte("no zip")), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
		t.Errorf("no zip: exit %d", r.Exit)
	}
	if _, err := Check(t.Context(), path+"x", CheckOptions{Key: e.key}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
