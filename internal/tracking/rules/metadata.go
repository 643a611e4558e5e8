package rules

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxItems bounds the items taken from one event.
const maxItems = 50

// number returns v as a count, 0 if it is none. It is at most 1000.
func number(v any) int {
	var x float64
	switch v := v.(type) {
	case float64:
		x = v
	case string:
		x, _ = strconv.ParseFloat(strings.TrimSpace(v), 64)
	}
	if math.IsNaN(x) || x < 0 {
		return 0
	}
	return int(min(x, 1000))
}

// amount returns v as a count: itself, or how many entries it lists.
func amount(v any) int {
	if list, ok := v.([]any); ok {
		return min(len(list), 1000)
	}
	return number(v)
}

// remainingItems returns what partial success left over, and whether there was
// partial success at all: metadata.remaining (also remaining_items) lists it,
// partial_success says so, or lists it itself.
func remainingItems(metadata map[string]any) (items []string, partial bool) {
	for _, name := range []string{"remaining", "remaining_items", "partial_success"} {
		items = append(items, listed(metadata[name])...)
	}
	flag := metadata["partial_success"]
	if off, ok := flag.(bool); ok && !off {
		return nil, false
	}
	return distinct(items), len(items) > 0 || truth(flag)
}

// deferredItems returns the deferred work that metadata.deferred lists. If it
// says that there is some, or does not say, the summary may tell of it.
func deferredItems(metadata map[string]any, summary string) []string {
	flag, present := metadata["deferred"]
	items := listed(flag)
	switch {
	case len(items) > 0:
		return distinct(items)
	case present && !truth(flag):
		return nil
	}
	items = deferred.Items(summary)
	if s := firstSentence(summary); len(items) == 0 && truth(flag) && s != "" {
		items = []string{s}
	}
	return distinct(items)
}

// truth reports whether v says yes.
func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return strings.EqualFold(strings.TrimSpace(v), "true") || strings.EqualFold(strings.TrimSpace(v), "yes")
	case float64:
		return v != 0
	}
	return false
}

// listed returns the items that v lists: texts, or objects with a title.
func listed(v any) []string {
	switch v := v.(type) {
	case []any:
		var items []string
		for _, x := range v[:min(len(v), maxItems)] {
			if _, nested := x.([]any); !nested {
				items = append(items, listed(x)...)
			}
		}
		return items
	case map[string]any:
		for _, name := range []string{"title", "item", "description"} {
			if s, ok := v[name].(string); ok {
				return listed(s)
			}
		}
	case string:
		if s := clean(v, 300); s != "" && !deferred.Nothing(s) && !truth(v) {
			return []string{s}
		}
	}
	return nil
}

// distinct returns items without those that have the key of an earlier one.
func distinct(items []string) []string {
	seen := make(map[string]bool)
	var out []string
	for _, item := range items {
		if key := deferred.Key(item); key != "" && !seen[key] && len(out) < maxItems {
			seen[key] = true
			out = append(out, item)
		}
	}
	return out
}

// clean is [deferred.Clean]: what issues say is cut as the items they are made of.
func clean(s string, limit int) string { return deferred.Clean(s, limit) }

// sentence returns s with an upper-case first letter.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// firstSentence returns the first sentence of text, on one line.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i]
	}
	return clean(strings.TrimRight(strings.TrimSpace(line), ".:"), 200)
}

// name returns v as a name: a text or a whole number, "" if it is neither.
func name(v any) string {
	switch v := v.(type) {
	case string:
		return clean(v, 200)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// trouble is what went wrong.
type trouble struct {
	Text  string
	Class string
}

// failureOf returns what went wrong by the error that is told; without one, by
// the first line of the summary. A class that nobody gave may stand in the text.
func failureOf(err *events.Failure, summary string, metadata map[string]any) trouble {
	t := trouble{Class: name(metadata["error_class"])}
	if err != nil {
		t.Text = err.Message
		if err.Class != "" {
			t.Class = err.Class
		}
	}
	if strings.TrimSpace(t.Text) == "" {
		t.Text, _, _ = strings.Cut(strings.TrimSpace(summary), "\n")
	}
	if t.Class == "" {
		t.Class = toldClass(t.Text)
	}
	return t
}

// isCritical reports whether the severity is critical.
func isCritical(metadata map[string]any) bool {
	s, _ := metadata["severity"].(string)
	return strings.EqualFold(strings.TrimSpace(s), "critical")
}
