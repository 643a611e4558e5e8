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

// Both verifiers, and a person, read the same in bundle.json. No name is unknown, in another case, or
// there twice, even if the ledger's key signed the file.
func TestVerifier_BundleHasOneReading(t *testing.T) {
	v, key, f := start(t), ledgertest.NewKey(t), ledgertest.GauntletFeed()
	path := ledgertest.Write(t, t.TempDir(), key, f, 7)
	whole := export(t, key, path, ledger.Selection{Run: "r1"}, false)
	const before = `"leaves":`
	for name, change := range map[string][2]string{
		"Unchanged":     {before, ` "leaves":`},
		"OtherCase":     {`"completeness": "UNPROVEN"`, `"completeness": "UNPROVEN", "COMPLETENESS": "COMPLETE"`},
		"OtherCaseLast": {`"contradictions": 2`, `"contradictions": 2, "Contradictions": 0`},
		"OtherFormat":   {`"format":`, `"FORMAT":`},
		"Twice":         {before, `"leaves":1,"leaves":`},
		"TwiceEscaped":  {before, `"le\u0061ves":1,"leaves":`},
		"Unknown":       {before, `"verdict":"all is well","leaves":`},
		"UnknownInside": {`"sealed":`, `"all":1,"sealed":`},
		"NullTwice":     {before, `"size":null,"leaves":`},
		"NullText":      {before, `"times":null,"leaves":`},
		"NullObject":    {before, `"pending":[null],"leaves":`},
		"ListAsObject":  {before, `"pending":{},"leaves":`},
		"ObjectAsList":  {before, `"pending":[[]],"leaves":`},
		"NumberAsText":  {before, `"times":1,"leaves":`},
		"TextAsFlag":    {before, `"unsealed":"false","leaves":`},
		"Fraction":      {`"contradictions": 2`, `"contradictions": 2.0`},
		"Exponent":      {`"contradictions": 2`, `"contradictions": 20e-1`},
		"MinusZero":     {`"in_flight":`, `"in_flight_events":-0,"in_flight":`},
		"TooLarge":      {`"in_flight":`, `"in_flight_events":18446744073709551616,"in_flight":`},
		"Surrogate":     {before, `"times":"\ud800","leaves":`},
		"NotUTF8":       {before, "\"times\":\"\xff\",\"leaves\":"},
		"UpperCaseHash": {`"sha256": "`, `"sha256": "A`},
		"NoTime":        {before, `"from":"","leaves":`},
		"More":          {"\n}", "\n}{}"},
		"ManyEntries":   {before, `"pending":[` + strings.Repeat("{},", 100_000) + `{}],"leaves":`},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundletest.Open(t, whole)
			was := o.Files["bundle.json"]
			if o.Files["bundle.json"] = strings.Replace(was, change[0], change[1], 1); o.Files["bundle.json"] == was {
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
