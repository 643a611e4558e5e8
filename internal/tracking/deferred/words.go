package deferred

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is one word of a text. A contraction such as "didn't" becomes the words "did" and "not".
type word struct {
	text       string
	start, end int
	glued      bool // a hyphen joins it to the previous word
}

// wordsOf keeps dots, underscores and slashes within words, because file names have them.
func wordsOf(s string) []word {
	var words []word
	start, end := -1, 0
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '%':
			if start < 0 {
				start = i
			}
			end = i + utf8.RuneLen(r)
		case start >= 0 && strings.ContainsRune("'’._/", r) && end == i:
			// A character such as "." is part of a word only if a letter or digit follows it.
		case start >= 0:
			words = addWord(words, s, start, end)
			start = -1
		}
	}
	if start >= 0 {
		words = addWord(words, s, start, end)
	}
	return words
}

func addWord(words []word, s string, start, end int) []word {
	text := strings.ToLower(strings.ReplaceAll(s[start:end], "’", "'"))
	glued := len(words) > 0 && s[words[len(words)-1].end:start] == "-"
	w := word{text, start, end, glued}
	for _, c := range contractions {
		if stem, ok := strings.CutSuffix(text, c.ending); ok && stem != "" {
			w.text = stem
			if full, ok := irregular[stem]; ok && c.word == "not" {
				w.text = full
			}
			return append(words, w, word{text: c.word, start: start, end: end})
		}
	}
	if text == "cannot" {
		w.text = "can"
		return append(words, w, word{text: "not", start: start, end: end})
	}
	return append(words, w)
}

var (
	contractions = []struct{ ending, word string }{
		{"n't", "not"}, {"'ll", "will"}, {"'ve", "have"}, {"'m", "am"}, {"'re", "are"}, {"'d", "would"},
	}
	irregular = map[string]string{"ca": "can", "wo": "will", "sha": "shall"}
)
