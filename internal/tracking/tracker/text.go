package tracker

import (
	"strings"
	"time"
)

// These functions format JSON results. The command line formats its output differently, with
// functions of its own.

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func readable(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
