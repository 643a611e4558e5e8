package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zricethezav/gitleaks/v8/config"
)

// The quick reader reads the rules of gitleaks, as the full parser does.
func TestReadQuick(t *testing.T) {
	got, ok := readQuick(config.DefaultConfig)
	want, err := readFully(config.DefaultConfig)
	if err != nil || !ok || len(got.Rules) == 0 {
		t.Fatalf("got %d rules, %v, %v", len(got.Rules), ok, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// The full parser agrees with the quick reader about all texts that the latter reads.
func FuzzReadQuick(f *testing.F) {
	for _, text := range []string{
		"title = \"a\" # b\n\n[allowlist]\npaths = [\n  '''a\\b''', # c\n  \"d\",\n]\n",
		"[[rules]]\nid = \"a\"\nregex = '''\n[\"']'''\nentropy = 3.5\nsecretGroup = 2\nkeywords = [\"k\"]\n[[rules.allowlists]]\ncondition = \"AND\"\nstopwords = []\n",
		"[[rules]]\nid = \"a\"\nid = \"b\"\n",
		"[[rules]]\nentropy = 03\n", "[[rules]]\nentropy = 1e3\n", "[[rules]]\nkeywords = [\"a\" \"b\"]\n",
		"title = \"a\\n\"\n", "title = \"\"\"a\"\"\"\n", "title = '''a''''\n", "[allowlist]\n[allowlist]\n", "[[rules.allowlists]]\n", "unknown = 1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := readQuick(text)
		if !ok {
			return
		}
		want, err := readFully(text)
		if err != nil {
			t.Fatalf("the full parser refuses it: %v", err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
