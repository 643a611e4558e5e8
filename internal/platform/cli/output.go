package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Logger returns the logger of cmd: for people when stderr is a terminal, as
// JSON otherwise.
func (s *Shared) Logger(cmd *cobra.Command) *slog.Logger {
	w := cmd.ErrOrStderr()
	if IsTerminal(w) {
		w = zerolog.ConsoleWriter{Out: w, NoColor: !UseColor(w)}
	}
	level := zerolog.InfoLevel
	if s.Verbose {
		level = zerolog.DebugLevel
	}
	return slog.New(zerolog.NewSlogHandler(zerolog.New(w).Level(level).With().Timestamp().Logger()))
}

// IsTerminal reports whether w is a terminal: where progress may go.
func IsTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// dumb is the TERM of a terminal that takes nothing but text.
const dumb = "dumb"

// UseColor reports whether w is a terminal whose user did not refuse colour,
// by a NO_COLOR variable with any value or a terminal that has none.
func UseColor(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != dumb
}

// Palette colours text. The zero Palette leaves it as it is.
type Palette struct{ on bool }

// PaletteFor returns the palette for what is written to w.
func PaletteFor(w io.Writer) Palette { return Palette{on: UseColor(w)} }

// Bold returns s in bold.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// Dim returns s for what matters less.
func (p Palette) Dim(s string) string { return p.paint("2", s) }

// Good returns s for what is as it should be.
func (p Palette) Good(s string) string { return p.paint("32", s) }

// Bad returns s for what is not.
func (p Palette) Bad(s string) string { return p.paint("31", s) }

// Warn returns s for what deserves a look.
func (p Palette) Warn(s string) string { return p.paint("33", s) }

func (p Palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// PrintJSON writes v to the stdout of cmd as indented JSON. Characters that a
// terminal could obey are written as their escapes, which mean the same.
func PrintJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(SafeJSON(cmd.OutOrStdout()))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// Printable returns s with every character that a terminal could take for a
// command, or a reader for another one, escaped as Go writes it. What agents
// did ends up in titles, names and errors; it must not move anybody's cursor.
// Line feeds and tabs stay.
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

// unsafeRune reports whether r is not what it looks like: a control or format
// character (the directions of text among them), or no character at all.
func unsafeRune(r rune) bool {
	return r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || r == unicode.ReplacementChar)
}

// ShellQuote returns a command line that a POSIX shell splits into args again,
// for hints that people paste.
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
