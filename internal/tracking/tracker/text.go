package tracker

import (
	"strings"
	"time"
)

// The functions below format texts that are part of JSON results. The command line
// has its own versions, which may change.

// oneLine returns s on one line: it replaces each run of white space with a blank.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// readable formats t as 2026-03-02 09:00:00 UTC.
func readable(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
