package tracker

import (
	"strings"
	"time"
)

// These texts are part of JSON results. The command line has its own versions, which may
// change.

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func readable(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
