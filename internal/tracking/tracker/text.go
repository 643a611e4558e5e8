package tracker

import (
	"strings"
	"time"
)

// The functions in this file format texts in JSON results. The command line has separate functions
// for its output.

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func readable(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
