package bundle

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// cosigned has two witnesses cosign the newest checkpoint. It returns policies that need two and
// three.
func cosigned(tb testing.TB, e evidence) (both, three *transparency.Policy) {
	tb.Helper()
	text := ""
	var names []string
	for i := range 3 {
		w := witnesstest.New(tb, fmt.Sprintf("w%d.example", i))
		w.Watch(tb, "hooktrail/acme", e.public)
		text += fmt.Sprintf("witness W%d %s %s\n", i, w.VerifierKey, w.URL)
		names = append(names, fmt.Sprintf("W%d", i))
	}
	all := []*transparency.Policy{}
	for _, k := range []string{"2", "all"} {
		p, err := transparency.ParsePolicy([]byte(text + "group g " + k + " " + strings.Join(names, " ") + "\nquorum g\n"))
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, &p)
	}
	signed, c, err := e.reader.Signed(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	client := witness.NewClient()
	defer client.Close()
	for _, w := range all[0].Witnesses[:2] {
		line, err := client.Cosign(tb.Context(), w, witness.Checkpoint{Note: signed, Size: c.Size}, 0)
		if err != nil {
			tb.Fatal(err)
		}
		signed = append(signed, line...)
	}
	if err := ledger.WriteWitnessed(e.path, signed); err != nil {
		tb.Fatal(err)
	}
	return all[0], all[1]
}

// A bundle has the last cosigned checkpoint and the proof that its own continues it.
//
//guarantee:witness-fails
func TestBundle_Witnesses(t *testing.T) {
	f := newFeed()
	f.run("coder/e4", "r1", 6)
	e := f.write(t)
	both, three := cosigned(t, e)
	for _, s := range []ledger.Selection{{}, {Run: "r1"}} {
		path := e.bundle(t, s)
		if r := check(t, path, CheckOptions{Key: e.key, Witnesses: both}); r.Exit != 0 || len(r.Witnesses.By) != 2 || r.Witnesses.Of != 3 {
			t.Errorf("two asked for: got exit %d, %+v, %v", r.Exit, r.Witnesses, r.Problems)
		}
		if r := check(t, path, CheckOptions{Key: e.key, Witnesses: three}); r.Exit != verifier.ExitUnwitnessed || r.Witnesses.Met {
			t.Errorf("three asked for: got exit %d, %+v", r.Exit, r.Witnesses)
		}
		if r := check(t, path, CheckOptions{Key: e.key}); r.Exit != 0 || r.Witnesses != nil {
			t.Errorf("nobody asked for: got exit %d, %+v", r.Exit, r.Witnesses)
		}
		o := open(t, path)
		for name, edit := range map[string]string{
			"Text": "x", "Hash": strings.Repeat("A", 43) + "=\n" + o.files[witnessedFile], "NoNote": "\n",
			"Cut": o.files[witnessedFile][:20], "Unsigned": strings.Replace(o.files[witnessedFile], "arrivals ", "arrivals 1", 1),
		} {
			o := open(t, path)
			o.files[witnessedFile] = edit
			if r := check(t, o.close(t), CheckOptions{Key: e.key, Witnesses: both}); r.Exit != verifier.ExitInvalid {
				t.Errorf("%s: got exit %d, %+v", name, r.Exit, r.Witnesses)
			}
		}
		o.files[witnessedFile] = ""
		if r := check(t, o.close(t), CheckOptions{Key: e.key, Witnesses: both}); r.Exit != verifier.ExitUnwitnessed {
			t.Errorf("taken away: got exit %d, %+v", r.Exit, r.Witnesses)
		}
	}
}

// Cosignatures of an older checkpoint count if the bundle's tree continues it.
//
//guarantee:witness-fails
func TestBundle_WitnessesOfAnOlderCheckpoint(t *testing.T) {
	f := newFeed()
	f.run("coder/e4", "r1", 6)
	older := f.write(t)
	both, _ := cosigned(t, older)
	signed, then, err := older.reader.Tree().Witnessed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.run("coder/e4", "r2", 7)
	newer := f.write(t)
	c, err := newer.reader.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	proof, err := tlog.ProveTree(c.Size, then.Size, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		return newer.reader.Tree().Hashes(t.Context(), indexes)
	}))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, h := range proof {
		text += h.String() + "\n"
	}
	whole := []byte(text + "\n" + string(signed))
	if _, got, err := openWitnessed(whole, ledger.LinkKeys(older.key, "acme", nil), c); err != nil || got != then || len(both.Check(signed).By) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	_, short, _ := strings.Cut(text, "\n")
	if _, _, err := openWitnessed([]byte(short+"\n"+string(signed)), ledger.LinkKeys(older.key, "acme", nil), c); err == nil {
		t.Error("a proof without its first hash was taken")
	}
	c.Root[0] ^= 1
	if _, _, err := openWitnessed(whole, ledger.LinkKeys(older.key, "acme", nil), c); err == nil {
		t.Error("another tree was taken")
	}
}

// Only checkpoints of this tree with the key's signature are accepted.
func FuzzOpenWitnessed(f *testing.F) {
	secret, public, err := note.GenerateKey(rand.Reader, "hooktrail")
	if err != nil {
		f.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		f.Fatal(err)
	}
	key, err := note.NewVerifier(public)
	if err != nil {
		f.Fatal(err)
	}
	var roots [3]tlog.Hash
	for i := range roots {
		roots[i] = tlog.RecordHash([]byte{byte(i)})
	}
	// The second of two leaves is the proof of the first.
	roots[2] = tlog.NodeHash(roots[0], roots[1])
	checkpoint := func(size int64, root tlog.Hash) ledger.Checkpoint {
		return ledger.Checkpoint{Tenant: "acme", Size: size, Root: root, Number: size, Arrivals: size, Time: began, Position: ledger.Position{Stream: began}}
	}
	then, newest := checkpoint(1, roots[0]), checkpoint(2, roots[2])
	for _, c := range []ledger.Checkpoint{then, newest, checkpoint(1, roots[1])} {
		signed, err := c.Sign(signer)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(roots[0].String() + "\n" + roots[1].String() + "\n\n" + string(signed)))
		f.Add([]byte(roots[1].String() + "\n\n" + string(signed)))
		f.Add([]byte("\n" + string(signed)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, got, err := openWitnessed(text, ledger.LinkKeys(key, "acme", nil), newest)
		if err != nil {
			return
		}
		if got != then && got != newest {
			t.Errorf("got %+v", got)
		}
	})
}

func openWitnessed(text []byte, keys ledger.Keys, newest ledger.Checkpoint) (signed []byte, then ledger.Checkpoint, err error) {
	return (&checker{keys: keys, newest: newest}).openContinued(text)
}
