package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

var seeds = []string{
	"", "plain", "password: 9f8g7h6j5k4l3m2n1b0v and 9f8g7h6j5k4l3m2n1b0v", "ann@example.com,bob@example.com", "4111 1111 1111 1111", "DE89370400440532013000",
	"+49 30 1234567 (212) 555-0123", "203.0.113.7 2001:db8::1", "[EMAIL_REDACTED]@example.com", "key=[SECRET_REDACTED]9f8g7h6j5k4l3m2n1b0v",
	awsKey + awsKey, githubPAT + "@github.com", "\xff" + awsKey, "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQ\n", 12) + "-----END PRIVATE KEY-----",
	"curl -u 'user:pass-word' https://example.com", "s.\u212aey \u017fecret=" + githubPAT, "token=a1b2c3d4e5f6g7h8.token=a1b2c3d4e5f6g7h9\n",
}

// FuzzText checks that findings are inside of the text, that none remains in the result, and that a
// second redaction finds nothing.
func FuzzText(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	r := mustNew(f, Options{})
	f.Fuzz(func(t *testing.T, text string) { checkText(t, r, text) })
}

func checkText(t testing.TB, r *Redactor, text string) {
	t.Helper()
	got, spans := r.Text(text)
	if (got != text) != (len(spans) > 0) {
		t.Fatalf("text changed: %v, but %d spans", got != text, len(spans))
	}
	if utf8.ValidString(text) && !utf8.ValidString(got) {
		t.Error("a character was cut")
	}
	for i, s := range spans {
		if s.Start < 0 || s.Start >= s.End || s.End > len(text) || i > 0 && s.Start < spans[i-1].Start {
			t.Fatalf("span %d of a text of %d bytes: %+v", i, len(text), s)
		}
		found := text[s.Start:s.End]
		if len(found) >= minKnown && len(spans) <= maxKnown && !isPersonalRule(s.Rule) && !strings.Contains(found, markerEnd) && strings.Contains(withoutMarkers(got), found) {
			t.Errorf("what %s found is still there", s.Rule)
		}
	}
	checkOutside(t, text, got, spans)
	if again, spans := r.Text(got); again != got || len(spans) > 0 {
		t.Errorf("again: %q to %q, %v", got, again, spans)
	}
}

// checkOutside checks that only spans changed, and that markers replace them.
func checkOutside(t testing.TB, text, got string, spans []Span) {
	t.Helper()
	at := 0
	for i := 0; i < len(spans); {
		start, end := spans[i].Start, spans[i].End
		for ; i < len(spans) && spans[i].Start <= end; i++ {
			end = max(end, spans[i].End)
		}
		rest, ok := strings.CutPrefix(got, text[at:start])
		found := markersIn(rest)
		if !ok || len(found) == 0 || found[0].start != 0 {
			t.Fatalf("bytes %d to %d changed, or no marker follows", at, start)
		}
		for got, at = rest, end; len(found) > 0 && found[0].start == 0 && !strings.HasPrefix(text[at:], got); found = markersIn(got) {
			got = got[found[0].end:]
		}
	}
	if got != text[at:] {
		t.Fatalf("bytes %d to %d changed", at, len(text))
	}
}

func withoutMarkers(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range markersIn(text) {
		b.WriteString(text[at:m.start] + "\x00")
		at = m.end
	}
	return b.String() + text[at:]
}

// planted are secrets of rules that no other text in the neighbourhood turns off.
var planted = []struct{ before, secret string }{
	{"OPENROUTER_API_KEY=", "sk-or-" + "v1-f5e65854588f3cdaef5c738dec20d275c155bd4cc1a16f8587d06ba40a9ae2ad"},
	{"groq ", "gsk_" + "6nzFQ6RBsaQ9y6dr7v3hWGdyb3FYGQZSootV0dF1lEi6EI8IQGyr"},
	{"seed ", "SUAMNDORCG7WT7LLZZ2C" + "PIFIEGYNAHX3W44TCV3NZNGVW6I77JXN5JVXEE"},
	{"mysql://root:", "siZFXmR7q" + "i17OPsAD"},
	{"db_password: ", "ember.willow" + "43!"},
	{"Authorization: Bearer ", "mmNKSWsJLGWmjnSh" + "zIUjE1MU-gB2Lz4yqk6vLzwD"},
}

// FuzzEncoded checks that a secret is found between colours and inside of JSON in JSON strings.
func FuzzEncoded(f *testing.F) {
	for i := range planted {
		f.Add("password: ", uint8(i), uint8(i))
		f.Add("\x1b]8;;\\\"", uint8(i), uint8(7*i))
	}
	r := mustNew(f, Options{})
	f.Fuzz(func(t *testing.T, noise string, which, how uint8) {
		p := planted[int(which)%len(planted)]
		if strings.Contains(noise, p.secret) {
			return
		}
		text := p.before + p.secret
		if how&1 != 0 {
			half := len(p.before) / 2
			text = "\x1b[35m" + p.before[:half] + "\x1b[0m\x1b[01;31m\x1b[K" + p.before[half:] + "\x1b[m\x1b[K" + p.secret
		}
		if strings.HasSuffix(p.before, "root:") {
			text += "@db:3306/shop"
		}
		text = noise + "\n" + text + "\n" + noise
		for range how >> 1 % 4 {
			data, err := json.Marshal(map[string]string{"out": text})
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		got, _ := r.Text(text)
		if strings.Contains(got, p.secret) {
			t.Errorf("the secret is still in %q", got)
		}
		checkText(t, r, text)
	})
}

// FuzzRedact checks that JSON keeps its form, a valid event stays valid, a second redaction changes
// nothing, and the memory of the input stays unchanged.
func FuzzRedact(f *testing.F) {
	for _, s := range seeds {
		text, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(`{"data":{"a":` + string(text) + `,"` + githubPAT + `":[1,` + string(text) + `,null]},"name":` + string(text) + `}`))
	}
	for _, s := range []string{`[]`, `{}`, `"\u0041KIA"`, `{"a":"\ud83d\ude00\ud83dann@example.com\u00"}`, `{"redacted":[],"a":"ann@example.com"}`, `{"redacted":{},"secret_key":"a9f8g7h6j5k4l3m2n1b0v"}`} {
		f.Add([]byte(s))
	}
	r := mustNew(f, Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		e := events.Event{ID: "e-1", Source: "s", Type: events.Custom.Type(), Time: time.Unix(1, 0).UTC(), Data: data}
		normal := e
		storable := len(data) > 0 && normal.Normalize() == nil
		err := r.Redact(&e)
		if !bytes.Equal(before, data) {
			t.Fatal("the caller's bytes changed")
		}
		if err != nil {
			if storable {
				t.Errorf("refused what can be stored: %v", err)
			}
			return
		}
		if !json.Valid(data) {
			return
		}
		if !json.Valid(e.Data) {
			t.Fatalf("%s became %s", data, e.Data)
		}
		again := e
		if err := r.Redact(&again); err != nil || !bytes.Equal(again.Data, e.Data) {
			t.Errorf("again: %s became %s: %v", e.Data, again.Data, err)
		}
		if storable {
			if diff := cmp.Diff(skeleton(t, data), skeleton(t, e.Data)); diff != "" {
				t.Errorf("form (-before +after):\n%s", diff)
			}
			if err := e.Normalize(); err != nil {
				t.Errorf("cannot be stored any more: %v", err)
			}
		}
	})
}

func skeleton(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if m, ok := v.(map[string]any); ok {
		delete(m, redactedField)
	}
	return bare(v)
}

func bare(v any) any {
	switch v := v.(type) {
	case string:
		return ""
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = bare(v[k])
		}
	}
	return v
}

func FuzzReadRules(f *testing.F) {
	f.Add("[[rules]]\nid = \"a\"\nregex = '''x'''\nkeywords = [\"x\",]\nentropy = 3.5 # high\n[[rules.allowlists]]\nregexes = ['x']\n")
	f.Add("title = '''a")
	f.Fuzz(func(t *testing.T, text string) {
		book, err := readRules(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, r := range book.rules {
			if r.id == "" || seen[r.id] {
				t.Errorf("rule %q", r.id)
			}
			seen[r.id] = true
		}
	})
}
