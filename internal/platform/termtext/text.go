// Package termtext makes texts from agents safe and short for a terminal.
package termtext

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Printable escapes characters that could control a terminal or deceive a reader, except line feeds
// and tabs.
func Printable(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	return r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || r == unicode.ReplacementChar)
}

// OneLine replaces each run of white space in s by one space. It escapes nothing.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

const maxCell = 80

// Cell returns s for a table, as one escaped line of at most 80 characters.
func Cell(s string) string {
	s = OneLine(s)
	if runes := []rune(s); len(runes) > maxCell {
		s = string(runes[:maxCell-1]) + "…"
	}
	return Printable(s)
}

// Time formats t, such as 2026-03-02 09:00:00 UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

// ShellQuote returns a command line that a POSIX shell splits into exactly args.
func ShellQuote(args ...string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return !shellSafe(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func shellSafe(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=@%+,", r))
}
