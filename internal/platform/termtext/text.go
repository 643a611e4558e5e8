// Package termtext prepares texts from agents for a terminal: it escapes dangerous characters and
// shortens long texts.
package termtext

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Printable returns s with Go escapes in place of the characters that could control a terminal or
// deceive a reader. Line feeds and tabs are not escaped.
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

// unsafeRune reports whether r could control a terminal or deceive a reader. That is true for
// control characters, for format characters such as a change of text direction, and for U+FFFD,
// which stands for invalid UTF-8.
func unsafeRune(r rune) bool {
	return r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || r == unicode.ReplacementChar)
}

// OneLine returns s with each run of white space replaced by one space. It does not escape any
// character.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

const maxCell = 80

// Cell returns s for a cell of a table: on one line, cut to 80 characters, and escaped with
// [Printable].
func Cell(s string) string {
	s = OneLine(s)
	if runes := []rune(s); len(runes) > maxCell {
		s = string(runes[:maxCell-1]) + "…"
	}
	return Printable(s)
}

// Time returns t in the form 2026-03-02 09:00:00 UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

// ShellQuote returns a command line. A POSIX shell splits it into exactly args.
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
