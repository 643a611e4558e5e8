package fingerprint_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/fingerprint"
)

func TestNormalise(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"Plain", "Merge conflict in a.go", "merge conflict in a.go"},
		{"UUID", "tool id=00000000-4c1e-4b7a-9f00-0A0000000000 failed", "tool id=# failed"},
		{"Hex", "checkout of 3f5a9c1b2d failed", "checkout of # failed"},
		{"ShortHex", "at 0xAB and 0xdeadbeef", "at # and #"},
		{"WordsOfHexLettersStay", "decade facade defaced", "decade facade defaced"},
		{"Time", "at 2026-03-01T10:00:01.5Z and 23:59:00", "at # and #"},
		{"Duration", "timeout after 31s, then 1.5 minutes", "timeout after #, then #"},
		{"Number", "exit 3, port 8,080", "exit #, port #"},
		{"PathDigits", "open /var/tmp/build-4411/out2.log", "open /var/tmp/build-#/out#.log"},
		{"LineAndColumn", "main.go:12:7: boom", "main.go:#: boom"},
		{"Address", "cannot reach 10.1.2.3:8080", "cannot reach #"},
		{"QuotedID", `job "nightly-x7" and 'r2d2'`, "job # and #"},
		{"LongMixedID", "call toolu_01A09q90qw90lq9 failed", "call # failed"},
		{"NamesWithOneNumberDiffer", "test_login2_flow failed", "test_login#_flow failed"},
		{"Spaces", " a\n\tb  c ", "a b c"},
		{"Nothing", "  ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fingerprint.Normalise(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzNormalise(f *testing.F) {
	f.Add("checkout of 3f5a9c1b2d took 31s at 10:02:11 in /a/1/b")
	f.Add(strings.Repeat("9a ", 2000))
	f.Add("'1\"`2' \u2028 \xff İ ǅ")
	f.Fuzz(func(t *testing.T, text string) {
		once := fingerprint.Normalise(text)
		if twice := fingerprint.Normalise(once); twice != once {
			t.Errorf("%q becomes %q, and then %q", text, once, twice)
		}
		if n := utf8.RuneCountInString(once); n > 300 || strings.ContainsAny(once, "0123456789\n") {
			t.Errorf("%d characters: %q", n, once)
		}
	})
}
