package daily

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func sample() Statement {
	return Statement{
		Origin: "hooktrail/acme", Size: 7, Number: 3, From: time.Unix(0, 0).UTC(), To: time.Unix(86400, 0).UTC(), Silence: time.Minute,
		Integrity: verifier.Verified, Completeness: verifier.Gaps, Exit: 11, Witnessed: 5, Cosignatures: 2, Body: "Report\n\nof acme\n",
	}
}

func TestParseStatement_Canonical(t *testing.T) {
	text := sample().Text()
	s, err := ParseStatement(text)
	if err != nil || s != sample() || s.Tenant() != "acme" {
		t.Fatalf("got %+v, %v", s, err)
	}
	for name, other := range map[string]string{
		"NoBody":   text[:strings.Index(text, "\n\n")],
		"Order":    strings.Replace(text, "exit 11\nwitnessed 5 2\n", "witnessed 5 2\nexit 11\n", 1),
		"Twice":    strings.Replace(text, "exit 11\n", "exit 11\nexit 11\n", 1),
		"Escape":   strings.Replace(text, "exit 11", "exit %31%31", 1),
		"Zero":     strings.Replace(text, "exit 11", "exit 011", 1),
		"Unknown":  strings.Replace(text, "exit 11\n", "exit 11\nmore 1\n", 1),
		"Header":   strings.Replace(text, "report/v1", "selection/v1", 1),
		"Missing":  strings.Replace(text, "exit 11\n", "", 1),
		"NoNumber": strings.Replace(text, "tree 7", "tree x", 1),
	} {
		if _, err := ParseStatement(other); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// FuzzParse checks that only canonical reports are accepted in either form.
func FuzzParse(f *testing.F) {
	text := sample().Text()
	f.Add([]byte(text + UnsignedEnd))
	f.Add([]byte(text + "\n— hooktrail AAAA\n"))
	f.Add([]byte(`{"report":{},"note":"hooktrail/report/v1\n"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		s, signed, err := file.Check(note.VerifierList(), func(Report) string { return "" })
		if err != nil {
			return
		}
		if signed {
			t.Fatal("a signature without a key was accepted")
		}
		if !bytes.Contains(file.note, []byte(s.Text())) {
			t.Errorf("%q reads as %q", file.note, s.Text())
		}
	})
}
