// Package metadata reads the metadata and the summaries of events. Each function accepts several
// types of values, because clients choose the types.
package metadata

import (
	"math"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// MaxItems limits the items of one event.
const MaxItems = 50

// Number converts v to an integer from 0 to 1000. Larger numbers become 1000, and invalid ones
// become 0.
func Number(v any) int {
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

// Amount returns how many items a metadata value describes. For a list, this is the number of
// elements. Any other value is converted by [Number].
func Amount(v any) int {
	if list, ok := v.([]any); ok {
		return min(len(list), 1000)
	}
	return Number(v)
}

// Remaining returns the items that a run with a partial success has not done. partial reports
// whether the run was a partial success. If the metadata has partial_success: false, listed items
// are ignored.
func Remaining(metadata map[string]any) (items []string, partial bool) {
	for _, name := range []string{"remaining", "remaining_items", "partial_success"} {
		items = append(items, listed(metadata[name])...)
	}
	flag := metadata["partial_success"]
	if off, ok := flag.(bool); ok && !off {
		return nil, false
	}
	return distinct(items), len(items) > 0 || truth(flag)
}

// Deferred returns the deferred work that metadata["deferred"] lists. If this value is missing, or
// is true instead of a list, Deferred searches the summary.
func Deferred(metadata map[string]any, summary string) []string {
	flag, present := metadata["deferred"]
	items := listed(flag)
	switch {
	case len(items) > 0:
		return distinct(items)
	case present && !truth(flag):
		return nil
	}
	items = deferred.Items(summary)
	if s := FirstSentence(summary); len(items) == 0 && truth(flag) && s != "" {
		items = []string{s}
	}
	return distinct(items)
}

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

func listed(v any) []string {
	switch v := v.(type) {
	case []any:
		var items []string
		for _, x := range v[:min(len(v), MaxItems)] {
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
		if s := deferred.Clean(v, 300); s != "" && !deferred.Nothing(s) && !truth(v) {
			return []string{s}
		}
	}
	return nil
}

func distinct(items []string) []string {
	seen := make(map[string]bool)
	var out []string
	for _, item := range items {
		if key := deferred.Key(item); key != "" && !seen[key] && len(out) < MaxItems {
			seen[key] = true
			out = append(out, item)
		}
	}
	return out
}

// FirstSentence returns the first sentence of text on one line.
func FirstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i]
	}
	return deferred.Clean(strings.TrimRight(strings.TrimSpace(line), ".:"), 200)
}

// Name returns a text or a number as a text. For other types, it returns "".
func Name(v any) string {
	switch v := v.(type) {
	case string:
		return deferred.Clean(v, 200)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// IsCritical reports whether metadata has the severity "critical".
func IsCritical(metadata map[string]any) bool {
	s, _ := metadata["severity"].(string)
	return strings.EqualFold(strings.TrimSpace(s), "critical")
}
