package ingest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxID limits the length of the id of a session, an agent or a call, in bytes. A run id may be
// longer, because it can consist of a session id and an agent id.
const MaxID = 120

// Usable reports whether s is short enough and valid as an id in a CloudEvents attribute. An empty
// s is usable.
func Usable(s string) bool {
	if len(s) > MaxID || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c < 0x20 || c >= 0x7f && c <= 0x9f || c >= 0xfdd0 && c <= 0xfdef || c&0xfffe == 0xfffe
	})
}

// SessionOf derives a session id from the name of a file. It returns "transcript" if the name is
// not usable as an id.
func SessionOf(file string) string {
	file = strings.TrimSuffix(file, ".gz")
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if name == "" || name == "." || !Usable(name) {
		return "transcript"
	}
	return name
}

// Time parses a time in RFC 3339. It returns false if the time is invalid or outside the years 1970
// to 9999, which events allow.
func Time(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	t = t.UTC()
	return t, err == nil && t.Year() >= 1970 && t.Year() <= 9999
}

// BadTime is the error text for a line with an invalid time. The events of such a line get the time
// of the line before.
const BadTime = "timestamp: not a time of the years 1970 to 9999, that of the line before is taken"

// Clip shortens a text of more than n bytes, without splitting a character, and appends "…".
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// ClipMiddle replaces the middle of a text of more than n bytes by " … ", without splitting a
// character. It keeps both ends, because either can state the cause of a failure.
func ClipMiddle(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from, to := n/2, len(s)-n/2
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from] + " … " + s[to:]
}

// Limits in bytes for [Clip] and [ClipMiddle].
const (
	MaxInput   = 300  // of a prompt in a summary
	MaxOutput  = 600  // of an answer in a summary
	MaxMessage = 2000 // of an error message
)

// MaxCount limits counts, so that sums do not overflow.
const MaxCount = 1 << 40

// AreCounts reports whether all numbers are between 0 and [MaxCount].
func AreCounts(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(n float64) bool { return n < 0 || n > MaxCount })
}

// Number converts a JSON number between 0 and [MaxCount] to an integer. For all other values, it
// returns 0.
func Number(raw json.RawMessage) int64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil || !AreCounts(n) {
		return 0
	}
	return int64(n)
}

// Text returns the text of a JSON string, and "" for other values.
func Text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// Flatten returns the text in the content of a message, which is a string or a list of blocks.
func Flatten(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}
