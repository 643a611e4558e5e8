package cli

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// Printable is [termtext.Printable].
func Printable(s string) string { return termtext.Printable(s) }

// OneLine is [termtext.OneLine].
func OneLine(s string) string { return termtext.OneLine(s) }

// Cell is [termtext.Cell].
func Cell(s string) string { return termtext.Cell(s) }

// Time is [termtext.Time].
func Time(t time.Time) string { return termtext.Time(t) }

// ShellQuote is [termtext.ShellQuote].
func ShellQuote(args ...string) string { return termtext.ShellQuote(args...) }
