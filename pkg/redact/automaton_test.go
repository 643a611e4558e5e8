package redact

import (
	"slices"
	"strings"
	"testing"
)

// The automaton finds the same words as a search for each of them.
func FuzzAutomaton(f *testing.F) {
	f.Add("key,api_key,secret,cret", "API_KEY is not a SECRET secret")
	f.Add("a,aa,ba", "aaabaaÄA")
	f.Fuzz(func(t *testing.T, list, text string) {
		words := slices.DeleteFunc(strings.Split(strings.ToLower(list), ","), func(word string) bool { return word == "" || !isASCII(word) })
		slices.Sort(words)
		words = slices.Compact(words)
		built, each := newAutomaton(words), newAutomaton(words)
		built.scanned.Store(smallText)
		type place struct{ word, start int }
		var got, want []place
		gotASCII := each.scan(text, func(word, start int) { got = append(got, place{word, start}) })
		wantASCII := built.scan(text, func(word, start int) { want = append(want, place{word, start}) })
		order := func(a, b place) int {
			if a.word != b.word {
				return a.word - b.word
			}
			return a.start - b.start
		}
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) || gotASCII != wantASCII || each.contains(text) != built.contains(text) || built.contains(text) != (len(want) > 0) {
			t.Errorf("got %v, %v, want %v, %v", got, gotASCII, want, wantASCII)
		}
	})
}
