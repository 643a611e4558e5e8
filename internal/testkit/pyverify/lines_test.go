package pyverify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// Both verifiers read the same in leaves.jsonl and again.jsonl, even if the ledger's key signed them.
func TestVerifier_LinesHaveOneReading(t *testing.T) {
	v, key, f := start(t), ledgertest.NewKey(t), ledgertest.GauntletFeed()
	whole := export(t, key, ledgertest.Write(t, t.TempDir(), key, f, 7), ledger.Selection{}, false)
	for name, change := range map[string][3]string{
		"Unchanged":    {"leaves.jsonl", `"index":`, ` "index" : `},
		"OtherCase":    {"leaves.jsonl", `"epoch":`, `"Epoch":`},
		"BothCases":    {"leaves.jsonl", `"epoch":`, `"EPOCH":7,"epoch":`},
		"Twice":        {"leaves.jsonl", `"epoch":`, `"epoch":7,"epoch":`},
		"TwiceEscaped": {"leaves.jsonl", `"epoch":`, `"\u0065poch":7,"epoch":`},
		"Unknown":      {"leaves.jsonl", `"epoch":`, `"x":7,"epoch":`},
		"Null":         {"leaves.jsonl", `"epoch":`, `"removed":null,"epoch":`},
		"NullNumber":   {"leaves.jsonl", `"epoch":1`, `"epoch":null`},
		"Fraction":     {"leaves.jsonl", `"epoch":1`, `"epoch":1.0`},
		"Exponent":     {"leaves.jsonl", `"epoch":1`, `"epoch":10e-1`},
		"Text":         {"leaves.jsonl", `"epoch":1`, `"epoch":"1"`},
		"Surrogate":    {"leaves.jsonl", `"epoch":`, `"removed":"\ud800","epoch":`},
		"NotUTF8":      {"leaves.jsonl", `"epoch":`, "\"removed\":\"\xff\",\"epoch\":"},
		"More":         {"leaves.jsonl", "}\n", "}{}\n"},
		"NoObject":     {"leaves.jsonl", "{", "[{"},
		"AgainCase":    {"again.jsonl", `"producer":`, `"Producer":`},
		"AgainTwice":   {"again.jsonl", `"producer":`, `"producer":"x","producer":`},
		"AgainNull":    {"again.jsonl", `"producer":`, `"kind":null,"producer":`},
		"AgainHash":    {"again.jsonl", `"sha256":"`, `"sha256":"\u0020`},
		"AgainNothing": {"again.jsonl", "", "null\n"},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundletest.Open(t, whole)
			was := o.Files[change[0]]
			if o.Files[change[0]] = strings.Replace(was, change[1], change[2], 1); o.Files[change[0]] == was {
				t.Fatal("nothing changed")
			}
			o.Resign(key.Signer())
			file := filepath.Join(t.TempDir(), "x.zip")
			if err := os.WriteFile(file, o.Pack(), 0o600); err != nil {
				t.Fatal(err)
			}
			b, err := bundle.Check(t.Context(), file, bundle.CheckOptions{Key: ledgertest.VerifierOf(key)})
			if err != nil {
				t.Fatal(err)
			}
			its := v.Verify(t, pyverify.Request{Path: file, Key: key.Public()})
			if b.Exit != its.Exit || (b.Exit == 40) != (name != "Unchanged") {
				t.Errorf("exit %d, %s, second verifier %d, %s: %v, %s", b.Exit, b.Completeness, its.Exit, its.Completeness, b.Problems, its.Problem)
			}
		})
	}
}
