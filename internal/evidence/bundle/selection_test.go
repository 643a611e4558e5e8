package bundle

import (
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// reopened is a run of two producers. The first seals it, calls a denied tool and seals it again.
// The second has a copy of an event.
func reopened() *feed {
	f := newFeed()
	first := f.publish("coder/e4", "r1", events.RunStarted, "", events.RunStartedData{Title: "a run"})
	f.publish("coder/e4", "r1", events.ToolBefore, "", events.ToolBeforeData{Tool: "Bash"})
	f.publish("coder/e4", "r1", events.RunFinished, "", events.RunFinishedData{Success: true})
	f.seal("coder/e4", "r1")
	f.run("tester/1", "r1", 3)
	f.publish("coder/e4", "r1", events.ToolBefore, "denied", events.ToolBeforeData{Tool: "rm"})
	f.publish("coder/e4", "r1", events.HookExecuted, "", map[string]string{"decision": "deny"})
	f.publish("coder/e4", "r1", events.RunFinished, "", events.RunFinishedData{})
	f.seal("coder/e4", "r1")
	f.publish("copier/1", "r1", events.RunStarted, first.ID, events.RunStartedData{Title: "a run"})
	f.seal("copier/1", "r1")
	f.run("coder/e4", "r2", 3)
	return f
}

// cuts remove parts of a bundle and repair everything that needs no key.
var cuts = []struct {
	name string
	of   ledger.Selection
	do   func(o *bundletest.Opened)
}{
	{"DeniedCallSeenAgain", ledger.Selection{Run: "r1"}, func(o *bundletest.Opened) {
		for _, l := range o.Drop(func(l bundletest.Leaf) bool { return l.ID == "denied" }) {
			o.Repeat(l, "r1")
		}
	}},
	{"CutBehindFirstSeal", ledger.Selection{Run: "r1"}, func(o *bundletest.Opened) {
		sealed := false
		o.Drop(func(l bundletest.Leaf) bool {
			after := sealed && l.Class == ledger.ClassEvent
			sealed = sealed || l.Kind == events.RunSealed
			return after && l.Producer == "coder/e4"
		})
	}},
	{"ProducerLeftOut", ledger.Selection{Run: "r1"}, func(o *bundletest.Opened) {
		o.Drop(func(l bundletest.Leaf) bool { return l.Producer == "tester/1" })
	}},
	{"PlacesChanged", ledger.Selection{Run: "r1"}, func(o *bundletest.Opened) {
		o.Edit("leaves.jsonl", func(line map[string]any) { line["stored"] = "2020-01-01T00:00:00Z"; line["stream"] = line["index"] })
	}},
	{"SeenAgainRenamed", ledger.Selection{Run: "r1"}, func(o *bundletest.Opened) {
		o.Edit("again.jsonl", func(line map[string]any) { line["run"], line["kind"] = "r9", "custom" })
	}},
	{"SeenAgainRenamedInAll", ledger.Selection{}, func(o *bundletest.Opened) {
		o.Edit("again.jsonl", func(line map[string]any) { line["run"], line["kind"] = "r9", "custom" })
	}},
}

// A bundle from which an attacker without the key removed anything is never complete.
//
//guarantee:verify-bundle-selection
func TestSelection_Attacks(t *testing.T) {
	e := reopened().write(t)
	private, _, err := note.GenerateKey(rand.Reader, "hooktrail")
	if err != nil {
		t.Fatal(err)
	}
	own, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range cuts {
		t.Run(tt.name, func(t *testing.T) {
			path := e.bundle(t, tt.of)
			if r := check(t, path, CheckOptions{Key: e.key}); r.Exit != verifier.ExitVerified || !r.Attested {
				t.Fatalf("before: exit %d, attested %t: %v", r.Exit, r.Attested, r.Problems)
			}
			for name, sign := range map[string]func(*bundletest.Opened){
				"Kept": func(*bundletest.Opened) {}, "OwnKey": func(o *bundletest.Opened) { o.Resign(own) },
				"Unsigned": (*bundletest.Opened).Unsign, "V1": (*bundletest.Opened).Downgrade,
			} {
				o := bundletest.Open(t, path)
				tt.do(o)
				sign(o)
				r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key})
				switch {
				case name == "Kept" || name == "OwnKey":
					if r.Exit != verifier.ExitInvalid {
						t.Errorf("%s: exit %d, %s, %s", name, r.Exit, r.Integrity, r.Completeness)
					}
				case r.Integrity != verifier.Verified && tt.of.Run != "":
					t.Errorf("%s: the attack is repaired badly: %q", name, r.Problems)
				case r.Exit != verifier.ExitIncomplete && r.Exit != verifier.ExitInvalid || r.Attested:
					t.Errorf("%s: exit %d, attested %t", name, r.Exit, r.Attested)
				}
			}
		})
	}
}

// A page that does not show the records is INVALID, with or without a statement.
//
//guarantee:verify-bundle-page
func TestSelection_PageReplaced(t *testing.T) {
	e := reopened().write(t)
	for _, s := range []ledger.Selection{{}, {Run: "r1"}, {From: began}} {
		for name, sign := range map[string]func(*bundletest.Opened){
			"Kept": func(*bundletest.Opened) {}, "Unsigned": (*bundletest.Opened).Unsign, "V1": (*bundletest.Opened).Downgrade,
		} {
			o := bundletest.Open(t, e.bundle(t, s))
			o.Files["index.html"] = strings.Replace(o.Files["index.html"], "</body>", "<script>alert(1)</script></body>", 1)
			sign(o)
			if r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
				t.Errorf("%s of %+v: exit %d", name, s, r.Exit)
			}
		}
	}
}

// A page of another version is accepted if its digest is signed.
func TestSelection_PageOfAnotherVersion(t *testing.T) {
	e := reopened().write(t)
	o := bundletest.Open(t, e.bundle(t, ledger.Selection{Run: "r1"}))
	o.Files["index.html"] = strings.Replace(o.Files["index.html"], "<h2>Records</h2>", "<h2>All records</h2>", 1)
	o.Resign(e.signer)
	if r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key}); r.Exit != verifier.ExitVerified {
		t.Errorf("exit %d: %q", r.Exit, r.Problems)
	}
}

// Bundles without a signed selection verify, but are never complete.
//
//guarantee:verify-bundle-selection
func TestSelection_NotAttested(t *testing.T) {
	e := reopened().write(t)
	for _, s := range []ledger.Selection{{}, {Run: "r1"}, {From: began}} {
		plain := e.export(t, Options{Selection: s, Key: e.public})
		v1 := bundletest.Open(t, plain)
		v1.Downgrade()
		for name, path := range map[string]string{"WithoutKey": plain, "V1": save(t, v1.Pack())} {
			r := check(t, path, CheckOptions{Key: e.key})
			if r.Integrity != verifier.Verified || r.Completeness != verifier.Unproven || r.Attested || r.NotAttested == "" {
				t.Errorf("%s of %+v: %s, %s, attested %t %q: %q", name, s, r.Integrity, r.Completeness, r.Attested, r.NotAttested, r.Problems)
			}
		}
	}
}

// A statement about another bundle of the same ledger is rejected.
//
//guarantee:verify-bundle-selection
func TestSelection_OfAnotherBundle(t *testing.T) {
	e := reopened().write(t)
	one := bundletest.Open(t, e.bundle(t, ledger.Selection{Run: "r1"}))
	two := bundletest.Open(t, e.bundle(t, ledger.Selection{Run: "r2"}))
	for _, names := range [][]string{
		{"selection.txt"}, {"selection.txt", "bundle.json"}, {"bundle.json"}, {"again.jsonl"}, {"leaves.jsonl", "records.jsonl", "tree.txt", "index.html"},
	} {
		o := one.Clone(t)
		for _, name := range names {
			o.Files[name] = two.Files[name]
		}
		if r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
			t.Errorf("%v: exit %d", names, r.Exit)
		}
	}
}

// A changed ledger is not signed, because the signature would confirm the change.
//
//guarantee:verify-bundle-selection
func TestSelection_EditedLedgerIsNotSigned(t *testing.T) {
	e := reopened().write(t)
	conn, err := sqlite.OpenConn(e.path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteTransient(conn, "UPDATE leaves SET stored = stored + 1 WHERE leaf = 5", nil), conn.Close()); err != nil {
		t.Fatal(err)
	}
	opts := Options{Selection: ledger.Selection{Run: "r1"}, Key: e.public, Signer: e.signer}
	if err := WriteBundle(t.Context(), io.Discard, e.reader, opts); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
	opts.Signer = newFeed().write(t).signer
	if err := WriteBundle(t.Context(), io.Discard, e.reader, opts); !errors.Is(err, ErrOtherKey) {
		t.Errorf("with another key: got %v", err)
	}
}

// A bundle of a run names missing sequence numbers that only the whole ledger shows.
//
//guarantee:verify-bundle-selection
func TestSelection_GapsOfTheLedger(t *testing.T) {
	f := newFeed()
	f.run("coder/e4", "r1", 2)
	f.run("coder/e4", "r2", 2)
	lost := len(f.messages) - 3
	f.messages = append(f.messages[:lost], f.messages[lost+1:]...)
	e := f.write(t)
	r := check(t, e.bundle(t, ledger.Selection{Run: "r1"}), CheckOptions{Key: e.key})
	if r.Completeness != verifier.Gaps || len(r.Gaps) != 1 || r.Gaps[0].Cause != verifier.CauseStream {
		t.Errorf("%s, %+v", r.Completeness, r.Gaps)
	}
	o := bundletest.Open(t, e.bundle(t, ledger.Selection{Run: "r1"}))
	o.EditAbout(func(a map[string]any) { delete(a, "gaps") })
	if r := check(t, save(t, o.Pack()), CheckOptions{Key: e.key}); r.Exit != verifier.ExitInvalid {
		t.Errorf("without the gaps: exit %d", r.Exit)
	}
}

// FuzzParseStatement checks that only canonical texts are accepted.
func FuzzParseStatement(f *testing.F) {
	e := reopened().write(f)
	for _, s := range []ledger.Selection{{}, {Run: "r1"}, {From: began}} {
		text, _, _ := strings.Cut(open(f, e.bundle(f, s)).files[selectionFile], "\n\n")
		f.Add(text + "\n")
		f.Add(strings.Replace(text, "\nleaves ", "\nleaves 0", 1) + "\n")
	}
	f.Add(statementHeader)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStatement(text)
		if err == nil && s.Text() != text {
			t.Errorf("%q is read as %q", text, s.Text())
		}
	})
}
