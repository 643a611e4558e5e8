package deferred

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText  = 16 << 10 // bytes of a text that are read
	maxItems = 50       // items of one text
	maxItem  = 300      // runes of an item
)

// Items returns the work that summary says was put off, one item each and in its
// order, worded as a title: on one line, without the cue, without a full stop.
// No two share a [Key]. It returns at most 50 items of at most 300 runes.
func Items(summary string) []string {
	r := reader{labels: deferredLabels, clauses: putOff}
	return r.read(summary)
}

// Done returns the items that summary says are done now: "Done: add docs",
// "Completed follow-up: add docs", ticked boxes, and lists under such a label. An
// item that [Items] found earlier is settled by one with its [Key]. The limits
// are those of Items.
func Done(summary string) []string {
	r := reader{labels: doneLabels, clauses: settled, done: true}
	return r.read(summary)
}

// Nothing reports whether item only says that there is none: "none", "N/A",
// "nothing left", "no further work".
func Nothing(item string) bool {
	if !strings.ContainsFunc(item, unicode.IsLetter) {
		return true
	}
	words := wordsOf(Clean(item, maxItem))
	return len(words) == 0 || begins(nothing, words) || are(nothingAlone, words)
}

// Key returns what two wordings of one item share: its words in lower case, one
// space between them, without articles and punctuation, the first without its
// ending ("Added the docs." and "add docs"). Key(Key(item)) is Key(item).
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

// stem returns a verb without its ending.
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

// appendItem appends item, cleaned, unless it says that there is none, has no
// key, or has that of an earlier one.
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

// isTally reports whether item is of several numbers of a report alone, with a name
// at least: "Skipped: 0, flaky: 2". One may be work: "Issue: 42".
func isTally(item string) bool { return tally.MatchString(item) && strings.ContainsAny(item, ":=") }

var tally = regexp.MustCompile(`^(?:[\pL][\pL _-]*[:=] *)?\d+%?(?:[,;|] *(?:[\pL][\pL _-]*[:=] *)?\d+%?)+$`)

// trimItem cuts what stands around a title: signs, and brackets that are open.
func trimItem(item string) string {
	item = strings.TrimFunc(item, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,:;!–—-*_", r) })
	if strings.HasPrefix(item, "(") && strings.HasSuffix(item, ")") && strings.Count(item, "(") == 1 {
		item = item[1 : len(item)-1]
	}
	return strings.TrimSpace(item)
}

// Clean returns s on one line: its words with one space between them, without
// control characters and what is not UTF-8. Of a longer text the first limit
// runes are left, the last of them an ellipsis; of any with a limit below one,
// nothing.
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
