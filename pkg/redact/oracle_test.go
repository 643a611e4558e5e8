package redact

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/sources"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// found has no position, because the library reports the line and column of the match instead of
// the secret.
type found struct{ Rule, Secret string }

func compareFound(a, b found) int {
	return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Secret, b.Secret))
}

// oracle is the library with one detector per rule, so that the rules are independent.
type oracle map[string]*detect.Detector

func newOracle(tb testing.TB) oracle {
	tb.Helper()
	all, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		tb.Fatal(err)
	}
	o := oracle{}
	for id, r := range all.Config.Rules {
		one := all.Config
		one.Rules, one.Keywords = map[string]config.Rule{id: r}, map[string]struct{}{}
		for _, word := range r.Keywords {
			one.Keywords[word] = struct{}{}
		}
		o[id] = detect.NewDetector(one)
		// Redaction ignores comments in a text.
		o[id].IgnoreGitleaksAllow = true
	}
	return o
}

func (o oracle) find(text, path string) []found {
	var list []found
	for id, d := range o {
		fragment := detect.Fragment(sources.Fragment{Raw: text, FilePath: path}) //nolint:staticcheck // the type that Detect takes
		for _, f := range d.Detect(fragment) {
			if id != "pkcs12-file" {
				list = append(list, found{id, f.Secret})
			}
		}
	}
	slices.SortFunc(list, compareFound)
	return list
}

func findSecrets(r *Redactor, text, path string) []found {
	var list []found
	for _, f := range r.secrets.find(nil, &subject{text: text, path: path}) {
		if !strings.HasPrefix(f.rule, "own-") {
			list = append(list, found{f.rule, text[f.start:f.end]})
		}
	}
	slices.SortFunc(list, compareFound)
	return list
}

func mustNew(tb testing.TB, opts Options) *Redactor {
	tb.Helper()
	r, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// In texts of 4 KB with secrets of random rules, each rule finds the same as in the library.
//
//guarantee:secrets
func TestSecrets_EqualTheLibrary(t *testing.T) {
	o, r := newOracle(t), mustNew(t, Options{})
	together, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	together.IgnoreGitleaksAllow = true
	hits, texts := map[string]int{}, secretText(t)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		want := o.find(text, "")
		if diff := gocmp.Diff(want, findSecrets(r, text, "")); diff != "" {
			t.Fatalf("findings (-library +ours):\n%s", diff)
		}
		// All rules together report less, because the library drops a generic finding in the line
		// of another finding.
		var reported []found
		for _, f := range together.DetectString(text) {
			reported = append(reported, found{f.RuleID, f.Secret})
		}
		for _, f := range want {
			hits[f.Rule]++
			if !slices.Contains(reported, f) && f.Rule != "generic-api-key" {
				t.Fatalf("%s is not reported by all rules together", f.Rule)
			}
		}
		for _, f := range reported {
			if !slices.Contains(want, f) {
				t.Fatalf("%s is reported by all rules together only", f.Rule)
			}
		}
	})
	t.Logf("%d rules of %d found something", len(hits), len(r.secrets.rules))
	if len(hits) < 100 && !race.Enabled {
		t.Errorf("only %d rules found something: the texts are too tame", len(hits))
	}
}
