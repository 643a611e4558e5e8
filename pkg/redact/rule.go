package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule is one of gitleaks' rules.
type rule struct {
	id       string
	regex    string // empty: the rule is about names of files only
	path     string // of the files that it is about; empty: all
	entropy  float64
	group    int // whose text is the secret; 0: the first one that is not empty
	keywords []string
	allow    []*allowlist

	once    sync.Once // guards the making of what is below
	pattern *regexp.Regexp
	paths   *regexp.Regexp
	near    *near
}

func (r *rule) compile() {
	r.pattern = compile(r.regex, everything)
	r.near = newNear(r.regex, r.keywords)
	if r.path != "" {
		r.paths = compile(r.path, everything)
	}
}

// apply appends what the rule finds. Its keywords begin at the places in at; nil
// when that is not known.
func (r *rule) apply(list []finding, in *subject, at []int32, global []*allowlist) []finding {
	r.once.Do(r.compile)
	if r.paths != nil && !r.paths.MatchString(in.path) {
		return list
	}
	var matches [][]int
	if r.near != nil && at != nil {
		matches = r.near.find(r.pattern, in.text, at)
	} else {
		matches = r.pattern.FindAllStringIndex(in.text, -1)
	}
	for _, m := range matches {
		if f, ok := r.judge(in, m[0], m[1], global); ok {
			list = append(list, f)
		}
	}
	return list
}

// judge returns the secret in a match of the rule's expression, unless it is none.
func (r *rule) judge(in *subject, start, end int, global []*allowlist) (finding, bool) {
	whole := strings.TrimLeft(in.text[start:end], "\n")
	first := end - len(whole)
	match := strings.TrimRight(whole, "\n")
	from, to := r.secret(match)
	secret := match[from:to]
	if r.entropy != 0 && entropy(secret) <= r.entropy {
		return finding{}, false
	}
	for _, lists := range [...][]*allowlist{global, r.allow} {
		for _, a := range lists {
			if a.allows(secret, match, func(p *regexp.Regexp) bool { return in.inLine(p, start, start+len(match)) }) {
				return finding{}, false
			}
		}
	}
	return finding{rule: r.id, start: first + from, end: first + to, secret: true}, from < to
}

// secret returns where in match the secret is. As in the library the expression
// is held against the match alone once more, which at its edges can differ.
func (r *rule) secret(match string) (from, to int) {
	groups := r.pattern.FindStringSubmatchIndex(match)
	if len(groups) < 4 {
		return 0, len(match)
	}
	if r.group > 0 {
		if 2*r.group+1 < len(groups) && groups[2*r.group] >= 0 {
			return groups[2*r.group], groups[2*r.group+1]
		}
		return 0, 0
	}
	for g := 2; g < len(groups); g += 2 {
		if groups[g] < groups[g+1] {
			return groups[g], groups[g+1]
		}
	}
	return 0, len(match)
}

// entropy returns Shannon's entropy of text as gitleaks counts it: characters,
// over a length in bytes.
func entropy(text string) float64 {
	var (
		ascii [utf8.RuneSelf]int
		other map[rune]int
	)
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii[r]++
			continue
		}
		if other == nil {
			other = map[rune]int{}
		}
		other[r]++
	}
	counts := ascii[:]
	for _, n := range other {
		counts = append(counts, n)
	}
	slices.Sort(counts[utf8.RuneSelf:]) // a sum of floats depends on the order
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
