package ingest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxID is how long an id of the input may be to name a session, an agent or a
// call. It leaves room for two of them in one run id.
const MaxID = 120

// Usable reports whether s can be an attribute of an event: short enough, and
// without the control characters that CloudEvents forbids. The empty id is.
func Usable(s string) bool {
	if len(s) > MaxID || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c < 0x20 || c >= 0x7f && c <= 0x9f || c >= 0xfdd0 && c <= 0xfdef || c&0xfffe == 0xfffe
	})
}

// SessionOf names the session of a file that does not say: by its own name,
// without the extension, and without that of gzip.
func SessionOf(file string) string {
	file = strings.TrimSuffix(file, ".gz")
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if name == "" || name == "." || !Usable(name) {
		return "transcript"
	}
	return name
}

// Time returns the time that s tells in RFC 3339, if it is one that an event
// can have.
func Time(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	t = t.UTC()
	return t, err == nil && t.Year() >= 1970 && t.Year() <= 9999
}

// BadTime is the reason of a report on a line whose time is none.
const BadTime = "timestamp: not a time of the years 1970 to 9999, that of the line before is taken"

// Clip returns the first n bytes of s at most, cut between characters and
// marked where something was cut off.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// What a summary or a message keeps of a text, in bytes, for [Clip].
const (
	MaxInput   = 300  // of a prompt in a summary
	MaxOutput  = 600  // of an answer in a summary
	MaxMessage = 2000 // of an error message
)

// MaxCount bounds a count of the input; sums of any number of them stay far
// below the largest integer.
const MaxCount = 1 << 40

// Number returns raw as a whole number, 0 where it is none or out of range.
func Number(raw json.RawMessage) int64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > MaxCount {
		return 0
	}
	return int64(n)
}

// Text returns raw where it is a string, else nothing.
func Text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// Flatten returns the text of a content as models and tools write it: a string,
// or blocks of which some have a text.
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
