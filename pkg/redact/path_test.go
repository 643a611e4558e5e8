package redact

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// Rules for files of certain names apply if the name of the file is known. A name never makes a
// rule find less.
func TestSecrets_OfFiles(t *testing.T) {
	race.Draw(t, 100, 20)
	o, r, texts := newOracle(t), mustNew(t, Options{}), secretText(t)
	const text, rule = `password = "x9Kq2mWz7Lp4"`, "hashicorp-tf-password"
	for path, want := range map[string]bool{"main.tf": true, "": false} {
		list := findSecrets(r, text, path)
		if diff := cmp.Diff(o.find(text, path), list); diff != "" {
			t.Errorf("findings in %q (-library +ours):\n%s", path, diff)
		}
		if got := slices.ContainsFunc(list, func(f found) bool { return f.Rule == rule }); got != want {
			t.Errorf("%s in %q: %t, want %t", rule, path, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		// None of these names is in an allow-list, because Redactor ignores them.
		path := rapid.SampledFrom([]string{"", "deploy/values.yaml", "main.tf", "src/a.php", "nuget.config", "a.txt"}).Draw(t, "path")
		text := texts.Draw(t, "text")
		if diff := cmp.Diff(o.find(text, path), findSecrets(r, text, path)); diff != "" {
			t.Fatalf("findings in %q (-library +ours):\n%s", path, diff)
		}
	})
}

// The name of a file can be before or after its text, also around it.
func TestRedact_FileNames(t *testing.T) {
	const text = `"password = \"x9Kq2mWz7Lp4\""`
	for data, want := range map[string]bool{
		`{"data":{"file_path":"main.tf","content":` + text + `}}`:                     true,
		`{"data":{"content":` + text + `,"file_path":"main.tf"}}`:                     true,
		`{"data":{"in":[{"content":` + text + `}],"path":"main.tf"}}`:                 true,
		`{"data":{"path":"a.txt","content":` + text + `,"filename":"main.tf"}}`:       true,
		`{"data":[{"content":` + text + `,"n":"a"},{"n":"b","file_path":"main.tf"}]}`: false,
	} {
		d, err := mustNew(t, Options{Only: []string{"hashicorp-tf-password"}}).search(data, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(d.found) > 0; got != want {
			t.Errorf("%s: found %t, want %t", data, got, want)
		}
	}
}
