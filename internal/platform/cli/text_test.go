package cli

import (
	"strings"
	"testing"
	"time"
)

func TestCell(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"Short", "pin the linter", "pin the linter"},
		{"Lines", "two\nlines\r\n\tand\u0085more\u2028on ", "two lines and more on"},
		{"Obeyed", "\x1b[2Jgone", `\x1b[2Jgone`},
		{"Fits", strings.Repeat("ü", mostCell), strings.Repeat("ü", mostCell)},
		{"Long", strings.Repeat("ü", mostCell+1), strings.Repeat("ü", mostCell-1) + "…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Cell(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 5, time.FixedZone("CET", 3600))
	if got, want := Time(at), "2026-03-02 09:00:00 UTC"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
