package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Rules for files of certain names apply if the name of the file is known. A name
// never makes a rule or an allow-list find less.
func TestSecrets_OfFiles(t *testing.T) {
	o, r, texts := newOracle(t), mustNew(t, Options{}), secretText(t)
	byPath := 0
	rapid.Check(t, func(t *rapid.T) {
		// None of these names is in an allow-list, because Redactor ignores them.
		path := rapid.SampledFrom([]string{"", "deploy/values.yaml", "main.tf", "src/a.php", "nuget.config", "a.txt"}).Draw(t, "path")
		text := texts.Draw(t, "text")
		want := o.find(text, path)
		if diff := cmp.Diff(want, findSecrets(r, text, path)); diff != "" {
			t.Fatalf("findings in %q (-library +ours):\n%s", path, diff)
		}
		for _, f := range want {
			switch f.Rule {
			case "kubernetes-secret-yaml", "hashicorp-tf-password", "freemius-secret-key", "nuget-config-password":
				byPath++
			}
		}
	})
	if byPath == 0 && !raceEnabled {
		t.Error("no rule about files found anything")
	}
}
