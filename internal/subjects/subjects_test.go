package subjects

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

var awkward = []string{
	"", "acme", "A", "a.b", ".", "..", "*", ">", "a.>", "acme.*", "=", "==", "=2E", "a=2Eb", " ", "a b", "\t", "\n", "\x00", "\x7f",
	"ünï", "世界", "🌎", "e\u0301", "é", "$JS.API", "_INBOX.x", "a/b", `a\b`, "../../etc", "ev.acme.p.r", strings.Repeat("x", MaxID), strings.Repeat(".", MaxID), strings.Repeat("🌎", MaxID/4),
}

func TestToken(t *testing.T) {
	for _, tc := range []struct{ id, want string }{
		{"", "="},
		{"run-1_A", "run-1_A"},
		{"a.b", "a=2Eb"},
		{"=", "=3D"},
		{"*", "=2A"},
		{">", "=3E"},
		{" ", "=20"},
		{"ü", "=C3=BC"},
	} {
		got, err := Token(tc.id)
		if err != nil || got != tc.want {
			t.Errorf("Token(%q): got %q, %v, want %q", tc.id, got, err, tc.want)
		}
	}
}

//guarantee:id-hostile
func TestToken_RoundTrips(t *testing.T) {
	seen := map[string]string{}
	for _, id := range awkward {
		token, err := Token(id)
		if err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		if other, ok := seen[token]; ok {
			t.Errorf("%q and %q have the token %s", id, other, token)
		}
		seen[token] = id
		if got, err := ParseToken(token); err != nil || got != id {
			t.Errorf("ParseToken(%s): got %q, %v, want %q", token, got, err, id)
		}
	}
}

func TestToken_Refuses(t *testing.T) {
	for _, tc := range []struct{ name, id, reason string }{
		{"300Characters", strings.Repeat("x", 300), "300 bytes long, at most 256 are allowed"},
		{"300Runes", strings.Repeat("ü", 300), "600 bytes long"},
		{"NotUTF8", "a\xff", "not valid UTF-8"},
		{"Surrogate", "\xed\xa0\x80", "not valid UTF-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Token(tc.id)
			if !errors.Is(err, ErrID) || !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("got %v, want ErrID because %s", err, tc.reason)
			}
			if _, err := FileName(tc.id); !errors.Is(err, ErrID) {
				t.Errorf("file name: got %v, want ErrID", err)
			}
		})
	}
}

func TestParseToken_Refuses(t *testing.T) {
	for _, token := range []string{
		"", "a.b", "*", ">", "a b", "=2", "=2e", "=2G", "a=", "=41", "=5F", "=FF", "=ED=A0=80", "ü", "\x00", "==", strings.Repeat("x", MaxID+1), strings.Repeat("=2E", MaxID+1),
	} {
		if id, err := ParseToken(token); err == nil {
			t.Errorf("%q was taken for %q", token, id)
		}
	}
}

//guarantee:id-hostile
func TestFileName(t *testing.T) {
	long := strings.Repeat("ü", 100)
	seen := map[string]string{}
	for _, id := range append(slices.Clone(awkward), long, long[:198], long[:196]+"x") {
		name, err := FileName(id)
		if err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		if other, ok := seen[name]; ok && other != id {
			t.Errorf("%q and %q have the file name %s", id, other, name)
		}
		seen[name] = id
		if len(name) > 200 || len(name) == 0 || strings.ContainsAny(name, "./\\\x00") {
			t.Errorf("%q: %q cannot be the name of a file", id, name)
		}
	}
	if name, _ := FileName("acme"); name != "acme" {
		t.Errorf("got %s, want acme", name)
	}
}

func TestSpace_Event(t *testing.T) {
	for _, tc := range []struct {
		name   string
		space  Space
		run    string
		want   string
		prefix string
	}{
		{name: "Default", run: "run-1", want: "hooktrail.ev.acme.coder=2Fe4.run-1.tool=2Ebefore"},
		{name: "NoRun", run: "", want: "hooktrail.ev.acme.coder=2Fe4.=.tool=2Ebefore"},
		{name: "OtherPrefix", space: Space{Prefix: "a.b."}, run: ">", want: "a.b.ev.acme.coder=2Fe4.=3E.tool=2Ebefore"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.space.Event("acme", "coder/e4", tc.run, events.ToolBefore)
			if err != nil || got != tc.want {
				t.Fatalf("got %s, %v, want %s", got, err, tc.want)
			}
			address, err := tc.space.Parse(got)
			if err != nil {
				t.Fatal(err)
			}
			want := Address{Tenant: "acme", Producer: "coder/e4", Run: tc.run, Kind: events.ToolBefore}
			if diff := cmp.Diff(want, address); diff != "" {
				t.Errorf("parse (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpace_Chain(t *testing.T) {
	got, err := Space{}.Chain("a.b", "p*")
	if err != nil || got != "hooktrail.chain.a=2Eb.p=2A" {
		t.Fatalf("got %s, %v", got, err)
	}
	address, err := Space{}.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Address{Tenant: "a.b", Producer: "p*", Manifest: true}, address); diff != "" {
		t.Errorf("parse (-want +got):\n%s", diff)
	}
}

func TestSpace_NamesTheIDThatCannotBeUsed(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	var s Space
	_, tenant := s.Event(long, "p", "r", "k")
	_, producer := s.Event("t", long, "r", "k")
	_, run := s.Event("t", "p", long, "k")
	_, kind := s.Event("t", "p", "r", events.Kind(long))
	_, chain := s.Chain(long, "p")
	_, chainProducer := s.Chain("t", long)
	_, filter := s.Tenant(long)
	_, letter := s.DeadLetter(long)
	_, durable := s.Durable("auditor", long)
	for _, tc := range []struct {
		name string
		err  error
	}{
		{"tenant", tenant},
		{"producer", producer},
		{"run", run},
		{"kind", kind},
		{"tenant", chain},
		{"producer", chainProducer},
		{"tenant", filter},
		{"consumer", letter},
		{"tenant", durable},
	} {
		if !errors.Is(tc.err, ErrID) || !strings.HasPrefix(tc.err.Error(), tc.name) {
			t.Errorf("got %v, want ErrID about the %s", tc.err, tc.name)
		}
	}
}

func TestSpace_ParseRefuses(t *testing.T) {
	for _, subject := range []string{
		"", "hooktrail.", "hooktrail.ev", "hooktrail.ev.", "hooktrail.ev.a.b.c", "hooktrail.ev.a.b.c.d.e", "hooktrail.ev.a.b.c.", "hooktrail.ev.a..c.d",
		"hooktrail.ev.*.b.c.d", "hooktrail.ev.a.b.c.>", "hooktrail.chain.a", "hooktrail.chain.a.b.c", "hooktrail.chain.a.", "hooktrail.dlq.a", "hooktrail.EV.a.b.c.d",
		"other.ev.a.b.c.d", "ev.a.b.c.d", "hooktrailev.a.b.c.d",
	} {
		if a, err := (Space{}).Parse(subject); err == nil {
			t.Errorf("%q was taken for %+v", subject, a)
		}
	}
}

func TestSpace_Validate(t *testing.T) {
	for _, tc := range []struct {
		space Space
		ok    bool
	}{
		{Space{}, true},
		{Space{Prefix: "a.b-c_d.", StreamPrefix: "A_"}, true},
		{Space{Prefix: "a"}, false},
		{Space{Prefix: "."}, false},
		{Space{Prefix: "a..b."}, false},
		{Space{Prefix: "a.>."}, false},
		{Space{Prefix: "*."}, false},
		{Space{Prefix: "a b."}, false},
		{Space{Prefix: strings.Repeat("x", 64) + "."}, false},
		{Space{StreamPrefix: "a.b"}, false},
		{Space{StreamPrefix: "a b"}, false},
		{Space{StreamPrefix: strings.Repeat("x", 65)}, false},
	} {
		if err := tc.space.Validate(); (err == nil) != tc.ok {
			t.Errorf("%+v: got %v", tc.space, err)
		}
	}
}

func TestSpace_Names(t *testing.T) {
	s := Space{Prefix: "a.", StreamPrefix: "A_"}
	letter, err := s.DeadLetter("auditor")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.EventStream(), s.DeadLetterStream(), s.AdvisoryStream(), s.AllEvents(), s.AllChains(), s.AllDeadLetters(), letter, Space{}.EventStream()}
	want := []string{"A_EV", "A_DLQ", "A_ADV", "a.ev.>", "a.chain.>", "a.dlq.>", "a.dlq.auditor", "HOOKTRAIL_EV"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestSpace_Durable(t *testing.T) {
	seen := map[string]bool{}
	for _, tenant := range awkward {
		name, err := Space{}.Durable("auditor", tenant)
		if err != nil {
			t.Fatal(err)
		}
		if seen[name] || len(name) > 255 || strings.ContainsAny(name, ". *>/\\\t\r\n\x00") {
			t.Errorf("%q cannot be the name of a durable, or is there twice", name)
		}
		seen[name] = true
	}
	if _, err := (Space{}).Durable("", "acme"); !errors.Is(err, ErrID) {
		t.Errorf("got %v for a nameless consumer, want ErrID", err)
	}
}

// The subjects of the longest ids fit into the server's control line of 4 KiB, together
// with the reply subject and the lengths.
func TestSpace_LongestSubject(t *testing.T) {
	id := strings.Repeat(".", MaxID)
	s := Space{Prefix: strings.Repeat("x", maxPrefix-1) + "."}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	subject, err := s.Event(id, id, id, events.Kind(id))
	if err != nil {
		t.Fatal(err)
	}
	if len(subject) > 3500 {
		t.Errorf("the longest subject has %d bytes", len(subject))
	}
}

func TestSpace_IsCheap(t *testing.T) {
	var s Space
	subject, err := s.Event("acme", "coder", "0193-run", events.ToolBefore)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = s.Parse(subject) }); n > 1 {
		t.Errorf("Parse allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = s.Event("acme", "coder", "0193-run", events.ToolBefore) }); n > 3 {
		t.Errorf("Event allocates %v times", n)
	}
}
