package redact

import (
	"strings"
	"sync"
	"sync/atomic"
)

// automaton finds several lower-case words in one pass over a text (Aho and Corasick).
type automaton struct {
	words   []string
	scanned atomic.Int64 // bytes
	once    sync.Once    // guards the fields below

	class [256]uint8 // 0 for bytes that no word contains
	width int
	// next contains the next state for a state and a class of bytes, at the index state × width +
	// class. States are multiplied by width, and complemented if words end there.
	next []int32
	ends [][]int32 // indexes of the words that end in each state
}

// smallText is the size in bytes from which the automaton is faster than a search for each word.
const smallText = 8 << 10

func newAutomaton(words []string) *automaton { return &automaton{words: words} }

func (a *automaton) isFor(text string) bool {
	if a.scanned.Load() < smallText && a.scanned.Add(int64(len(text))) < smallText {
		return false
	}
	a.once.Do(a.build)
	return true
}

func (a *automaton) build() {
	a.width = 1
	for _, word := range a.words {
		for i := range len(word) {
			if c := word[i]; a.class[c] == 0 {
				a.class[c] = uint8(a.width)
				a.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
	}
	a.plant()
	a.link()
	for i, state := range a.next {
		a.next[i] = state * int32(a.width)
		if len(a.ends[state]) > 0 {
			a.next[i] = ^a.next[i]
		}
	}
}

func (a *automaton) plant() {
	most := 1
	for _, word := range a.words {
		most += len(word)
	}
	a.next, a.ends = make([]int32, a.width, most*a.width), make([][]int32, 1, most)
	for w, word := range a.words {
		state := int32(0)
		for i := range len(word) {
			at := int(state)*a.width + int(a.class[word[i]])
			if a.next[at] == 0 {
				a.next[at] = int32(len(a.ends))
				a.next = append(a.next, make([]int32, a.width)...)
				a.ends = append(a.ends, nil)
			}
			state = a.next[at]
		}
		a.ends[state] = append(a.ends[state], int32(w))
	}
}

func (a *automaton) link() {
	fail := make([]int32, len(a.ends))
	order := make([]int32, 1, len(a.ends))
	for i := 0; i < len(order); i++ {
		state := order[i]
		for c := range a.width {
			at := int(state)*a.width + c
			back := int32(0)
			if state != 0 {
				back = a.next[int(fail[state])*a.width+c]
			}
			if to := a.next[at]; to == 0 {
				a.next[at] = back
			} else {
				fail[to] = back
				a.ends[to] = append(a.ends[to], a.ends[back]...)
				order = append(order, to)
			}
		}
	}
}

func (a *automaton) scan(text string, found func(word, start int)) (ascii bool) {
	if !a.isFor(text) {
		a.scanEach(text, func(word, start int) bool {
			found(word, start)
			return true
		})
		return isASCII(text)
	}
	state, all := int32(0), byte(0)
	for i := range len(text) {
		c := text[i]
		all |= c
		state = a.next[state+int32(a.class[c])]
		if state >= 0 {
			continue
		}
		state = ^state
		for _, w := range a.ends[int(state)/a.width] {
			found(int(w), i+1-len(a.words[w]))
		}
	}
	return all < 0x80
}

func (a *automaton) contains(text string) bool {
	if !a.isFor(text) {
		return !a.scanEach(text, func(int, int) bool { return false })
	}
	state := int32(0)
	for i := range len(text) {
		if state = a.next[state+int32(a.class[text[i]])]; state < 0 {
			return true
		}
	}
	return false
}

func (a *automaton) scanEach(text string, found func(word, start int) bool) bool {
	text = lowerASCII(text)
	for w, word := range a.words {
		for start := 0; ; start++ {
			i := strings.Index(text[start:], word)
			if i < 0 {
				break
			}
			if start += i; !found(w, start) {
				return false
			}
		}
	}
	return true
}

// lowerASCII keeps the positions of characters, unlike strings.ToLower.
func lowerASCII(text string) string {
	low := []byte(text)
	for i, c := range low {
		if 'A' <= c && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return string(low)
}
