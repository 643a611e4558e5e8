package deferred

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText  = 16 << 10 // bytes read, from the end of the text
	maxItems = 50       // per text
	maxItem  = 300      // in runes
)

// Items returns the deferred work that a summary mentions, such as "TODO: add docs", in the order
// of the text. It returns at most 50 different items of at most 300 runes each.
func Items(summary string) []string {
	r := reader{labels: deferredLabels, clauses: deferredCues}
	return r.read(summary)
}

// Done returns the finished work that a summary mentions, such as "Done: add docs". If [Items]
// returned the same work earlier, both texts have the same [Key].
func Done(summary string) []string {
	r := reader{labels: doneLabels, clauses: doneCues, done: true}
	return r.read(summary)
}

// Nothing reports whether an item says that no work is left, such as "none" or "nothing left".
func Nothing(item string) bool {
	if !strings.ContainsFunc(item, unicode.IsLetter) {
		return true
	}
	words := wordsOf(Clean(item, maxItem))
	return len(words) == 0 || begins(nothing, words) || are(nothingAlone, words)
}

// Key returns a normal form of a work item. It is the same for similar items such as "Added the
// docs." and "add docs". The key of a key is the key itself.
func Key(item string) string {
	for range 100 {
		key := keyOnce(item)
		if key == item {
			break
		}
		item = key
	}
	return item
}

func keyOnce(item string) string {
	words := strings.FieldsFunc(strings.ToLower(item), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.S) && !strings.ContainsRune("#./_", r) || r == '`'
	})
	for i, w := range words {
		words[i] = strings.Trim(w, "./_")
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	plain := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "a" || w == "an" || w == "the" })
	if len(plain) > 0 {
		words = plain
	}
	if len(words) > 0 {
		words[0] = stem(words[0])
	}
	return strings.Join(words, " ")
}

func stem(w string) string {
	for _, ending := range []string{"ing", "ed", "es", "e", "s"} {
		if s, ok := strings.CutSuffix(w, ending); ok && len(s) >= 3 {
			w = s
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' && w[n-1] < utf8.RuneSelf {
		return w[:n-1]
	}
	return w
}

func appendItem(items []string, item string) []string {
	item = trimItem(Clean(item, maxItem))
	key := Key(item)
	if len(items) >= maxItems || key == "" || utf8.RuneCountInString(item) < 3 || Nothing(item) || isTally(item) {
		return items
	}
	if slices.ContainsFunc(items, func(other string) bool { return Key(other) == key }) {
		return items
	}
	return append(items, item)
}

// isTally recognises test results such as "Skipped: 0, flaky: 2". A single number does not count,
// because "Issue: 42" may be work.
func isTally(item string) bool { return tally.MatchString(item) && strings.ContainsAny(item, ":=") }

var tally = regexp.MustCompile(`^(?:[\pL][\pL _-]*[:=] *)?\d+%?(?:[,;|] *(?:[\pL][\pL _-]*[:=] *)?\d+%?)+$`)

func trimItem(item string) string {
	item = strings.TrimFunc(item, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,:;!–—-*_。！", r) })
	if strings.HasPrefix(item, "(") && strings.HasSuffix(item, ")") && strings.Count(item, "(") == 1 {
		item = item[1 : len(item)-1]
	}
	return strings.TrimSpace(item)
}

// Clean returns s as one line of at most limit runes, without control characters. A shortened text
// ends with an ellipsis.
func Clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	switch {
	case utf8.RuneCountInString(s) <= limit:
		return s
	case limit < 1:
		return ""
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}
