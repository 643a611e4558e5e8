package deferral_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/deferral"
)

func TestItems(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"Nothing", "Implemented the cache.", nil},
		{"Label", "Implemented the cache. Follow-up: add retry to the webhook client.", []string{"add retry to the webhook client"}},
		{"TwoLabels", "Out of scope: migrate the billing schema. TODO: add docs", []string{"migrate the billing schema", "add docs"}},
		{"SeveralUnderOneLabel", "Remaining: merge a.go; merge b.go", []string{"merge a.go", "merge b.go"}},
		{"List", "Done.\n\n**Next steps:**\n1. Wire the flag\n2. Write docs\n\nThat is all.", []string{"Wire the flag", "Write docs"}},
		{"Heading", "## Remaining work:\n- [ ] tests for b.go\n- [ ] tests for c.go", []string{"tests for b.go", "tests for c.go"}},
		{"HeadingWithoutColon", "### Next Steps\n\n1. Wire the flag\n2. Write docs\n\n### Files\n- a.go", []string{"Wire the flag", "Write docs"}},
		{"SentenceThatListsThem", "The remaining tasks are:\n- one thing\n- another", []string{"one thing", "another"}},
		{"PutOff", "Fixed the parser, deferred the lexer.", []string{"the lexer"}},
		{"OutOfScope", "The billing migration is out of scope for this run.", []string{"The billing migration"}},
		{"LeftForLater", "I left the error paths for later.", []string{"the error paths"}},
		{"Negation", "No follow-up needed. Nothing is out of scope; everything done.", nil},
		{"NegatedLabel", "Follow-ups: none. Next steps: N/A. TODO: nothing left. Remaining: -", nil},
		{"NothingWasDeferred", "Nothing was deferred, and it wasn't left for later either.", nil},
		{"Removal", "Removed all TODO comments from parser.go.", nil},
		{"RemovalOfDeferred", "Implemented what was deferred earlier. Completed the work that was left for later.", nil},
		{"ProductNoun", "Implemented the todo-list feature end to end. The todo app runs.", nil},
		{"AdjectiveDeferred", "Deferred rendering works now and uses defer statements.", nil},
		{"Code", "```go\n// TODO(x): upstream\n// TODO: more\n```\nfixed formatting only", nil},
		{"OpenFence", "fixed\n```\nTODO: not for us", nil},
		{"InlineCode", "Replaced `TODO: x` with the call.", nil},
		{"Quotation", `The user said "TODO: call home" and left.`, nil},
		{"QuotedLine", "> TODO: theirs\nfixed", nil},
		{"Condition", "It is unclear if the lexer was deferred.", nil},
		{"Twice", "TODO: add docs. Follow-up: Add docs!", []string{"add docs"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, deferral.Items(test.text)); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzItems checks that items are bounded lines of the text, that code hides
// what is in it, and that a denial adds nothing.
func FuzzItems(f *testing.F) {
	f.Add("Follow-up: add retry. TODO: x; y\nNext steps:\n- one\n- two\n")
	f.Add("``` TODO: x ``` deferred the `lexer`, \"quoted\" is out of scope")
	f.Add("Remaining:\n\n- \xff\n* [x] ok …")
	f.Fuzz(func(t *testing.T, text string) {
		items := deferral.Items(text)
		if len(items) > 50 {
			t.Errorf("got %d items", len(items))
		}
		for _, item := range items {
			if !utf8.ValidString(item) || strings.ContainsAny(item, "\n\r\x00") || utf8.RuneCountInString(item) > 300 || strings.TrimSpace(item) == "" {
				t.Errorf("item %q is no line", item)
			}
		}
		if len(text) < 16_000 && !strings.Contains(text, "`") {
			fenced := deferral.Items("```\n" + text + "\n```")
			if len(fenced) > 0 {
				t.Errorf("code has items: %q", fenced)
			}
			denied := deferral.Items(strings.TrimSpace(text) + "\n\nNo follow-up needed.\n")
			if diff := cmp.Diff(items, denied); diff != "" {
				t.Errorf("a denial changes items (-without +with):\n%s", diff)
			}
		}
	})
}
