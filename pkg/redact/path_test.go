package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Rules about files of certain names hold where the name of the file is known.
// Names never make a rule or an allow-list hold less.
func TestSecrets_OfFiles(t *testing.T) {
	o, r, texts := newOracle(t), mustNew(t, Options{}), secretText(t)
	byPath := 0
	rapid.Check(t, func(t *rapid.T) {
		// None of them is in an allow-list: those are left out on purpose.
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
