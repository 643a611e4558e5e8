package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// Logger returns the logger of cmd, which writes text to a terminal and JSON elsewhere.
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

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Columns returns the width of the terminal w, or 0 for another writer.
func Columns(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(fileOf(w).Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Closed reports whether the reader of the pipe w has closed it, so that nobody reads further output.
func Closed(w io.Writer) bool {
	f := fileOf(w)
	if f == nil {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}

const dumb = "dumb"

// UseColor reports whether w is a terminal with colours. NO_COLOR turns colours off.
func UseColor(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != dumb
}

// Palette colours text. The zero Palette adds no colour.
type Palette struct{ on bool }

// PaletteFor returns the palette for output to w.
func PaletteFor(w io.Writer) Palette { return Palette{on: UseColor(w)} }

// Bold returns s in bold.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// Dim returns s in a dim colour.
func (p Palette) Dim(s string) string { return p.paint("2", s) }

// Good returns s in green.
func (p Palette) Good(s string) string { return p.paint("32", s) }

// Bad returns s in red.
func (p Palette) Bad(s string) string { return p.paint("31", s) }

// Warn returns s in yellow.
func (p Palette) Warn(s string) string { return p.paint("33", s) }

func (p Palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// PrintJSON writes v to stdout as indented JSON that is safe for a terminal.
func PrintJSON(cmd *cobra.Command, v any) error { return printJSON(cmd, v, "  ") }

// PrintJSONLine is like [PrintJSON], but writes v in one line.
func PrintJSONLine(cmd *cobra.Command, v any) error { return printJSON(cmd, v, "") }

func printJSON(cmd *cobra.Command, v any, indent string) error {
	enc := json.NewEncoder(termtext.SafeJSON(cmd.OutOrStdout()))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
