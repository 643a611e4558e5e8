package deferred_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

func TestItems(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"Empty", "", nil},
		{"Label", "Implemented the cache. Follow-up: add retry to the webhook client.", []string{"add retry to the webhook client"}},
		{"TwoLabels", "Out of scope: migrate the billing schema. TODO: add docs", []string{"migrate the billing schema", "add docs"}},
		{"SeveralUnderOneLabel", "Remaining: merge a.go; merge b.go", []string{"merge a.go", "merge b.go"}},
		{"NumberedInline", "Remaining leaks: (1) the pool, (2) the cache.", []string{"the pool", "the cache"}},
		{"NumbersAndStops", "Next steps: 1. add docs. 2. add tests, and 3. ship. All green.", []string{"add docs", "add tests", "ship"}},
		{"ShortParts", "Resolved 3 of 5 conflicts; remaining: a.go, b.go, and c.go.", []string{"a.go", "b.go", "c.go"}},
		{"ShortPartsInBrackets", "Deferred the lexer (remaining files: a.go, b.go).", []string{"the lexer", "a.go", "b.go"}},
		{"PartsOfASentence", "Remaining: the parser is slow, and nobody knows why.", []string{"the parser is slow, and nobody knows why"}},
		{"PartsBehindAnotherLabel", "Follow-up: add docs, tests", []string{"add docs, tests"}},
		{"StatusOfANumber", "Patrol: 2 convoys remain open. 3 questions remain open.", []string{"3 questions remain open"}},
		{"ToFollowUp", "Will follow up with a fix. The follow up was done.", []string{"follow up with a fix"}},
		{"SentenceThatListsThem", "The remaining tasks are:\n- one thing\n- another", []string{"one thing", "another"}},
		{"TickedBoxesAreDone", "## Remaining\n- [x] parser\n- [ ] printer\n- ~~docs~~", []string{"printer"}},
		{"DetailsBelowAnItem", "Next steps:\n- wire the flag\n  - in both mains\n- write docs", []string{"wire the flag", "write docs"}},
		{"TheNextHeadingEndsTheList", "### Next steps\n- wire the flag\n\n### Files\n- a.go", []string{"wire the flag"}},
		{"AParagraphEndsTheList", "TODO:\n- wire the flag\n\nFiles touched:\n- a.go", []string{"wire the flag"}},
		{"ProseBelowAHeading", "## Out of scope\n\nThe billing schema. It is huge.", []string{"The billing schema"}},
		{"SentencesOfAnItem", "TODO:\n- Wire the flag. It is off by default.", []string{"Wire the flag"}},
		{"WrappedLine", "The migration of the invoices is large, and so it was\nleft for a later change.", []string{"The migration of the invoices is large, and so it was left for a later change"}},
		{"TwoClauses", "I refactored the store, skipped the CLI, and left the docs for later.", []string{"the CLI", "the docs"}},
		{"Contraction", "I couldn’t test the upload.", []string{"test the upload"}},
		{"AReasonIsNoTitle", "Skipped the Windows build because the runner is down.", []string{"the Windows build"}},
		{"CodeIsAName", "Deferred the `lexer.go` rewrite.", []string{"the `lexer.go` rewrite"}},
		{"Twice", "TODO: add docs. Follow-up: Add the docs!", []string{"add docs"}},
		{"NothingUnderLabel", "Follow-ups: none. Next steps: N/A. TODO: nothing left. Remaining: -", nil},
		{"OptionsOfAQuestion", "What next?\n1. merge\n2. do it later", nil},
		{"NumbersOfAReport", "Total errors: 0, Skipped: 0, Unnecessary Skips: 0\nTodos: 0, fixmes: 0", nil},
		{"ANumberMayBeWork", "Follow-up: PR: 42", []string{"PR: 42"}},
		{"LacksSomething", "The two reports without stack traces were left for later.", []string{"The two reports without stack traces"}},
		{"LacksNothing", "Without any work left for later. Done without a test being skipped.", nil},
		{"Table", "| TODO: a | b |\n|---|---|", nil},
		{"OpenFence", "fixed\n```\nTODO: not for us", nil},
		{"German", "Die Dokumentation wurde auf später verschoben.", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, deferred.Items(test.text)); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClean(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{" add\tdocs\r\n\x00for\xff it ", 20, "add docs for it"},
		{"grün", 4, "grün"},
		{"grüner", 4, "grü…"},
		{"an item", 4, "an…"},
		{"an item", 1, "…"},
		{"an item", 0, ""},
		{"an item", -1, ""},
		{"", 0, ""},
	} {
		if got := deferred.Clean(test.text, test.limit); got != test.want {
			t.Errorf("Clean(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}

func TestDone(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"Label", "Done: add retry to the webhook client.", []string{"add retry to the webhook client"}},
		{"FollowUp", "Completed follow-up: document the new flag. All green.", []string{"document the new flag"}},
		{"List", "**Completed:**\n- the parser\n- [x] the printer\n\nRemaining:\n- docs", []string{"the parser", "the printer"}},
		{"Tick", "✅ Toggle in the header\n⏳ TODO: charts", []string{"Toggle in the header"}},
		{"Sentence", "The deferred migration is now complete.", []string{"migration"}},
		{"Verb", "Completed the follow-up to add retry.", []string{"add retry"}},
		{"Nothing", "Done. All tests pass.", nil},
		{"PutOff", "TODO: add docs. Not done: tests.", nil},
		{"Shown", "`Done: x` and \"Done: y\"\n> Done: z", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, deferred.Done(test.text)); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKey(t *testing.T) {
	for _, same := range [][]string{
		{"add retry to the webhook client", "Add retry to the webhook client.", "added retry to webhook client", "**Adding** retry to a webhook-client"},
		{"drop `old.go`", "Dropped old.go"},
		{"migrate the billing schema", "Migrating the billing schema!"},
	} {
		for _, other := range same {
			if deferred.Key(other) != deferred.Key(same[0]) {
				t.Errorf("%q and %q: keys %q and %q", same[0], other, deferred.Key(same[0]), deferred.Key(other))
			}
		}
	}
	for _, other := range []string{"merge b.go", "merge a.go and b.go", "merge a.py", ""} {
		if deferred.Key("merge a.go") == deferred.Key(other) {
			t.Errorf("%q has the key of another item", other)
		}
	}
}

func TestNothing(t *testing.T) {
	for item, want := range map[string]bool{
		"none": true, "N/A": true, "None.": true, "nothing left": true, "no further work": true, "-": true, "": true, "4": true,
		"No metrics are exported": false, "nonce handling": false, "done button": false,
	} {
		if deferred.Nothing(item) != want {
			t.Errorf("%q: got %t", item, !want)
		}
	}
}

func TestHostile(t *testing.T) {
	for _, piece := range []string{
		"todo ", "todo todo: ", "'a ", "`", "\"x ", "(", "- ", "TODO: x\n", "not not ", "left ", "if ", "I we ", "# ", "will be ", ". ", "~~~\n", "**", "é", "\x00", "\xff",
		"a and ", "; remaining: ", "(remaining: a, ", "1) ", "follow up on ",
	} {
		text := strings.Repeat(piece, 10<<20/len(piece))
		start := time.Now()
		if n := len(deferred.Items(text)); n > 50 {
			t.Errorf("%q: got %d items", piece, n)
		}
		deferred.Done(text)
		// It normally takes a thousandth of this.
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%q: took %s", piece, took)
		}
	}
}

// FuzzItems checks that items are bounded lines with words of the text, that code hides its
// content, that a denial changes nothing, and that keys are stable.
func FuzzItems(f *testing.F) {
	f.Add("Follow-up: add retry. TODO: x; y\nNext steps:\n- one\n- two\n")
	f.Add("``` TODO: x ``` deferred the `lexer`, \"quoted\" is out of scope")
	f.Add("Remaining:\n\n- \xff\n* [x] ok …\n- Don’t **bold** (a; b)")
	f.Add("I did not get to it, but it was left for later. Die Änderung is TBD")
	f.Add("As a follow-up, the ’ones’ will be handled in a separate PR: all\n")
	f.Add("All but two; remaining: a.go, b.go and c.go. Next: (1) x, 2) y. 3. z (remaining: 2, 1,000)")
	f.Fuzz(func(t *testing.T, text string) {
		items := deferred.Items(text)
		checkItems(t, text, items)
		checkItems(t, text, deferred.Done(text))
		if diff := cmp.Diff(items, deferred.Items(text)); diff != "" {
			t.Errorf("another time (-first +second):\n%s", diff)
		}
		key := deferred.Key(text)
		if again := deferred.Key(key); again != key {
			t.Errorf("the key of key %q is %q", key, again)
		}
		if len(text) > 16_000 || strings.ContainsAny(text, "`~") {
			return
		}
		if fenced := deferred.Items("```\n" + text + "\n```"); len(fenced) > 0 {
			t.Errorf("code has items: %q", fenced)
		}
		denied := deferred.Items(strings.TrimSpace(text) + "\n\n## Result\n\nNo follow-up needed.\n")
		if diff := cmp.Diff(deferred.Items(strings.TrimSpace(text)), denied); diff != "" {
			t.Errorf("a denial changes items (-without +with):\n%s", diff)
		}
	})
}

func checkItems(t *testing.T, text string, items []string) {
	t.Helper()
	if len(items) > 50 {
		t.Errorf("got %d items", len(items))
	}
	said := letters(text)
	for _, item := range items {
		if !utf8.ValidString(item) || strings.ContainsFunc(item, unicode.IsControl) || utf8.RuneCountInString(item) > 300 || strings.TrimSpace(item) != item || item == "" {
			t.Errorf("item %q is no title", item)
		}
		if !strings.Contains(said, letters(item)) {
			t.Errorf("item %q is not in the text", item)
		}
	}
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
}
