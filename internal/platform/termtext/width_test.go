package termtext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFit(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
		width            int
	}{
		{"Short", "abc", "abc", 5},
		{"Exact", "abcde", "abcde", 5},
		{"Long", "abcdef", "abcd…", 5},
		{"Wide", "日本語", "日本語", 6},
		{"WideCut", "日本語", "日本…", 5},
		{"WideCutOdd", "日本語", "日…", 4},
		{"Emoji", "🙂🙂🙂", "🙂…", 4},
		{"Combining", "e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301", 3},
		{"One", "abc", "…", 1},
		{"None", "abc", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Fit(test.text, test.width); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzPad(f *testing.F) {
	f.Add("日本 🙂 text", 5)
	f.Add("e\u0301", 1)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = max(0, min(width, 200))
		s = Printable(strings.ToValidUTF8(s, "?"))
		got := Pad(s, width)
		if !utf8.ValidString(got) || Width(got) != width {
			t.Errorf("%q in %d columns: got %q, which takes %d", s, width, got, Width(got))
		}
	})
}
