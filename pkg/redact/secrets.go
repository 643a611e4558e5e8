package redact

import (
	"math"
	"slices"
	"strings"
	"sync"
)

type detector struct {
	rules  []*rule
	global []*allowlist
	words  *automaton
	users  [][]int32 // for each word, the indexes of its rules
	seeds  bool      // finds NATS seeds
	always []int32   // indexes of the rules without keywords
	pool   sync.Pool // of *positions
}

type positions struct {
	of   [][]int32
	hit  []int32 // indexes of the rules to apply
	once []bool  // for each rule, whether hit contains it
}

func newDetector(book *rulebook, on func(id string) bool) *detector {
	d := &detector{global: book.allow, seeds: on(natsSeed)}
	number := map[string]int{}
	var words []string
	for _, r := range slices.Concat(book.rules, book.own) {
		if r.regex == "" || !on(r.id) {
			continue // matches only file names, which are not redacted
		}
		user := int32(len(d.rules))
		d.rules = append(d.rules, r)
		if len(r.keywords) == 0 {
			d.always = append(d.always, user)
		}
		for _, word := range r.keywords {
			w, ok := number[word]
			if !ok {
				w = len(words)
				number[word], words, d.users = w, append(words, word), append(d.users, nil)
			}
			d.users[w] = append(d.users[w], user)
		}
	}
	d.words = newAutomaton(words)
	d.pool.New = func() any { return &positions{of: make([][]int32, len(d.rules)), once: make([]bool, len(d.rules))} }
	return d
}

func (p *positions) add(rule int32, start int) {
	if !p.once[rule] {
		p.once[rule] = true
		p.hit = append(p.hit, rule)
	}
	if start >= 0 {
		p.of[rule] = append(p.of[rule], int32(start))
	}
}

func (p *positions) clear() {
	for _, rule := range p.hit {
		p.of[rule], p.once[rule] = p.of[rule][:0], false
	}
	p.hit = p.hit[:0]
}

func (d *detector) find(list []finding, in *subject) []finding {
	p, _ := d.pool.Get().(*positions)
	defer func() {
		p.clear()
		d.pool.Put(p)
	}()
	add := func(word, start int) {
		if in.view != nil && in.view.same(start) {
			return
		}
		for _, user := range d.users[word] {
			p.add(user, start)
		}
	}
	folded := len(in.text) > math.MaxInt32 // an int32 cannot contain all keyword positions
	if ascii := d.words.scan(in.text, add); !ascii && hasFoldedLetter(in.text) {
		// strings.ToLower can change the length of the text, so the positions of keywords may be
		// wrong for in.text.
		folded = true
		d.words.scan(strings.ToLower(in.text), add)
	}
	in.keywords = len(p.hit) > 0
	for _, user := range d.always {
		p.add(user, -1)
	}
	slices.Sort(p.hit)
	for _, user := range p.hit {
		at := p.of[user]
		if folded || len(at) == 0 {
			at = nil
		} else if !slices.IsSorted(at) {
			slices.Sort(at)
		}
		list = d.rules[user].apply(list, in, at, d.global)
	}
	return d.findSeeds(list, in.text)
}

func (d *detector) findSeeds(list []finding, text string) []finding {
	if !d.seeds {
		return list
	}
	return findSeeds(list, text)
}

func (d *detector) names(text string) bool { return d.words.contains(text) || hasFoldedLetter(text) }

func (d *detector) ofFile(name string) bool {
	return slices.ContainsFunc(d.rules, func(r *rule) bool { return r.path != "" && r.ofFile(name) })
}
