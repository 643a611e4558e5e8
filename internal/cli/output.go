package cli

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Logger returns the logger of cmd: for people when stderr is a terminal, as
// JSON otherwise.
func (s *Shared) Logger(cmd *cobra.Command) *slog.Logger {
	w := cmd.ErrOrStderr()
	if IsTerminal(w) {
		w = zerolog.ConsoleWriter{Out: w}
	}
	level := zerolog.InfoLevel
	if s.Verbose {
		level = zerolog.DebugLevel
	}
	return slog.New(zerolog.NewSlogHandler(zerolog.New(w).Level(level).With().Timestamp().Logger()))
}

// IsTerminal reports whether w is a terminal: where progress and colours may go.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// PrintJSON writes v to the stdout of cmd as indented JSON.
func PrintJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
