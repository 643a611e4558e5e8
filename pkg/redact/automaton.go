package redact

// automaton finds several words in one pass over a text (Aho and Corasick), in any case of ASCII
// letters.
type automaton struct {
	class [256]uint8 // 0 for bytes that no word contains
	width int
	next  []int32 // next state, at state × width + class
	words []string
	ends  [][]int32 // indexes of the words that end in each state
	first int32     // words end in this state and in all higher states
}

func newAutomaton(words []string) *automaton {
	a := &automaton{words: words, width: 1}
	for _, word := range words {
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
	order, fail := a.link()
	a.renumber(order, fail)
	return a
}

func (a *automaton) plant() {
	a.next, a.ends = make([]int32, a.width), make([][]int32, 1)
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

// link fills the missing transitions. fail names the state in which the search continues if no
// longer word fits.
func (a *automaton) link() (order, fail []int32) {
	fail = make([]int32, len(a.ends))
	order = make([]int32, 1, len(a.ends))
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
	return order, fail
}

// renumber gives the highest numbers to the states in which words end. One comparison then
// recognises them.
func (a *automaton) renumber(order, number []int32) {
	count := int32(0)
	for _, ending := range [...]bool{false, true} {
		if ending {
			a.first = count * int32(a.width)
		}
		for _, state := range order {
			if (len(a.ends[state]) > 0) == ending {
				number[state] = count
				count++
			}
		}
	}
	next, ends := make([]int32, len(a.next)), make([][]int32, len(a.ends))
	for state := range order {
		ends[number[state]] = a.ends[state]
		for c := range a.width {
			next[int(number[state])*a.width+c] = number[a.next[state*a.width+c]] * int32(a.width)
		}
	}
	a.next, a.ends = next, ends
}

func (a *automaton) scan(text string, found func(word, start int)) (ascii bool) {
	state, all := int32(0), byte(0)
	for i := range len(text) {
		c := text[i]
		all |= c
		state = a.next[state+int32(a.class[c])]
		if state < a.first {
			continue
		}
		for _, w := range a.ends[int(state)/a.width] {
			found(int(w), i+1-len(a.words[w]))
		}
	}
	return all < 0x80
}

func (a *automaton) contains(text string) bool {
	state := int32(0)
	for i := range len(text) {
		if state = a.next[state+int32(a.class[text[i]])]; state >= a.first {
			return true
		}
	}
	return false
}
