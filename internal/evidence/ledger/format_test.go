package ledger

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const leafExample = `hooktrail/leaf/v1
class event
id 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01
producer coder/e4
sequence 97
run r-42
kind tool.before
time 2026-11-20T09:14:07.123456789Z
sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
`

func exampleLeaf() Leaf {
	return Leaf{
		Class: ClassEvent, ID: "01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01", Producer: "coder/e4", Sequence: 97, Run: "r-42",
		Kind: events.ToolBefore, Time: time.Date(2026, 11, 20, 9, 14, 7, 123456789, time.UTC), Hash: events.HashOf([]byte("hello")),
	}
}

func TestLeaf_Example(t *testing.T) {
	if diff := cmp.Diff(leafExample, string(exampleLeaf().Encode())); diff != "" {
		t.Errorf("encode (-want +got):\n%s", diff)
	}
	got, err := ParseLeaf([]byte(leafExample))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(exampleLeaf(), got); diff != "" {
		t.Errorf("parse (-want +got):\n%s", diff)
	}
}

func TestLeaf_EscapesWhatEndsALine(t *testing.T) {
	l := Leaf{Class: ClassQuarantine, Producer: "a\nclass event", Run: "100 %\x7f\x00 ü", Finding: FindingUndecodable}
	text := string(l.Encode())
	if want := "producer a%0Aclass event\nrun 100 %25%7F%00 ü\n"; !strings.Contains(text, want) {
		t.Errorf("got %q, want %q in it", text, want)
	}
	got, err := ParseLeaf([]byte(text))
	if err != nil || got != l {
		t.Errorf("got %+v, %v, want %+v", got, err, l)
	}
}

func TestParseLeaf_Refuses(t *testing.T) {
	for name, data := range map[string]string{
		"Nothing":       "",
		"OtherVersion":  strings.Replace(leafExample, "v1", "v2", 1),
		"Order":         strings.Replace(leafExample, "class event\nid 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01\n", "id 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01\nclass event\n", 1),
		"Twice":         strings.Replace(leafExample, "run r-42\n", "run r-42\nrun r-42\n", 1),
		"Unknown":       leafExample + "more x\n",
		"Empty":         strings.Replace(leafExample, "run r-42", "run ", 1),
		"NoEnd":         strings.TrimSuffix(leafExample, "\n"),
		"LowerEscape":   strings.Replace(leafExample, "r-42", "%0a", 1),
		"NeedlesEscape": strings.Replace(leafExample, "r-42", "%41", 1),
		"ShortTime":     strings.Replace(leafExample, ".123456789Z", ".1Z", 1),
		"LeadingZero":   strings.Replace(leafExample, "sequence 97", "sequence 097", 1),
		"Long":          strings.Replace(leafExample, "r-42", strings.Repeat("r", MaxLeafBytes), 1),
	} {
		t.Run(name, func(t *testing.T) {
			if l, err := ParseLeaf([]byte(data)); err == nil {
				t.Errorf("got %+v, want an error", l)
			}
		})
	}
}

func FuzzParseLeaf(f *testing.F) {
	f.Add([]byte(leafExample))
	f.Add(Leaf{Class: ClassConflict, Producer: "%\n", Finding: FindingIDReused}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLeaf(data)
		if err == nil && !bytes.Equal(l.Encode(), data) {
			t.Errorf("got %q from %q", l.Encode(), data)
		}
	})
}

const checkpointExample = `hooktrail/acme
91204
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
checkpoint 413
time 2026-11-20T09:14:07.123456789Z
arrivals 91210 xbsO4WQf5CcWVFLmN4HDFbCvS8hq0sCO0RkJdzSmGvk=
stream 1 2026-11-01T08:00:00.000000000Z 120331 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
`

func TestCheckpoint_Example(t *testing.T) {
	c, err := ParseCheckpoint(checkpointExample)
	if err != nil {
		t.Fatal(err)
	}
	want := Checkpoint{
		Tenant: "acme", Size: 91204, Root: c.Root, Number: 413, Time: time.Date(2026, 11, 20, 9, 14, 7, 123456789, time.UTC),
		Arrivals: 91210, Digest: c.Digest, Position: Position{
			Epoch: 1, Stream: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC), Sequence: 120331, Hash: events.HashOf([]byte("hello")),
		},
	}
	if diff := cmp.Diff(want, c); diff != "" || c.Root == (tlog.Hash{}) {
		t.Errorf("parse (-want +got):\n%s", diff)
	}
	signer, known := signing(t)
	signed, err := c.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := OpenCheckpoint(signed, known); err != nil || got != c {
		t.Errorf("open: got %+v, %v", got, err)
	}
	if got, err := ReadCheckpoint(signed); err != nil || got != c {
		t.Errorf("read: got %+v, %v", got, err)
	}
	if _, err := OpenCheckpoint(bytes.Replace(signed, []byte("91204"), []byte("91205"), 1), known); err == nil {
		t.Error("another text was opened")
	}
}

func signing(tb testing.TB) (note.Signer, note.Verifiers) {
	tb.Helper()
	private, public, err := note.GenerateKey(rand.Reader, "hooktrail")
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		tb.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		tb.Fatal(err)
	}
	return signer, note.VerifierList(verifier)
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add(checkpointExample)
	f.Add(strings.Replace(checkpointExample, "acme", "=C3=BC", 1))
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCheckpoint(text)
		if err != nil {
			return
		}
		if again, err := c.Text(); err != nil || again != text {
			t.Errorf("got %q, %v from %q", again, err, text)
		}
		if _, err := note.Open([]byte(text), nil); err == nil {
			t.Error("a text was taken for a note")
		}
	})
}

func TestFormats_AreDocumented(t *testing.T) {
	page := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	formats, verify := page("formats.md"), page("verify.md")
	for _, example := range []string{leafExample, checkpointExample} {
		if !strings.Contains(formats, "```text\n"+example+"```\n") {
			t.Errorf("docs/formats.md does not show\n%s", example)
		}
	}
	for _, f := range []Finding{
		FindingIDReused, FindingSequenceReused, FindingUndecodable, FindingMisaddressed, FindingUnnumbered, FindingOversized,
	} {
		if !strings.Contains(verify, "`"+string(f)+"`") {
			t.Errorf("docs/verify.md does not explain the finding %s", f)
		}
	}
}
