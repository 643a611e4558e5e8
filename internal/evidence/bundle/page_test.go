package bundle

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var hostile = []string{
	`</pre><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`,
	`{{.Key}}`, "\u202egnp.exe", "\x1b[2J", `<meta http-equiv="refresh" content="0;url=http://evil.example">`,
	`<link rel=stylesheet href=//evil.example/x.css>`, `javascript:alert(1)`, `]]><!--`,
}

var (
	tags    = regexp.MustCompile(`<[!/a-zA-Z][^>]*>`)
	allowed = regexp.MustCompile(`^</?(!doctype html|html|head|meta|title|style|body|table|thead|tbody|tr|th|td|h1|h2|p|pre|code|details|summary|span|br)( (lang|charset|http-equiv|content|name|scope|class)="[^"]*")*>$`)
)

//guarantee:export-hostile
func TestPage_IsTextOnly(t *testing.T) {
	f := newFeed()
	f.run("coder/e4", "r1", len(hostile), hostile...)
	for i, text := range hostile {
		f.publish(text, text, events.Custom, text+string(rune('a'+i)), map[string]string{text: text})
		f.add(subjects.Address{Producer: text, Run: text, Kind: events.Custom}, []byte(text))
	}
	e := f.write(t)
	for _, s := range []ledger.Selection{{}, {Run: hostile[0]}} {
		page := open(t, e.bundle(t, s)).files[pageFile]
		for _, tag := range tags.FindAllString(page, -1) {
			if !allowed.MatchString(tag) {
				t.Errorf("the page has the tag %q", tag)
			}
		}
		if strings.ContainsAny(page, "\u202e\x1b") {
			t.Error("the page has characters that are not what they look like")
		}
		for _, want := range []string{"default-src 'none'", "alert(1)"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not show %q", want)
			}
		}
		if n := strings.Count(page, "<meta http-equiv="); n != 1 {
			t.Errorf("the page has %d instructions for browsers, want its own", n)
		}
		if err := checkNames(open(t, e.bundle(t, s)).names); err != "" {
			t.Error(err)
		}
	}
}

func checkNames(names []string) string {
	if strings.Join(names, " ") != strings.Join(filesOf(formatV2), " ") {
		return "the names are " + strings.Join(names, " ")
	}
	return ""
}

func TestPage_IsBounded(t *testing.T) {
	f := newFeed()
	f.run("coder/e4", "r1", maxPageRecords+100, strings.Repeat("é", maxPageText))
	o := open(t, f.write(t).bundle(t, ledger.Selection{}))
	page := o.files[pageFile]
	if n := strings.Count(page, "<details>"); n != maxPageRecords {
		t.Errorf("got %d records, want %d", n, maxPageRecords)
	}
	if !strings.Contains(page, "The first 2000 of 2104") || !strings.Contains(page, "the rest is in records.jsonl") {
		t.Error("the page does not say that there is more")
	}
	if n := strings.Count(o.files[recordsFile], "\n"); n != maxPageRecords+104 {
		t.Errorf("got %d records in the file", n)
	}
}
