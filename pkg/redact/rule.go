package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

type rule struct {
	id       string
	regex    string // empty if the rule matches file names only
	path     string // expression for file names, empty to match all files
	entropy  float64
	group    int // the group with the secret, 0 for the first non-empty group
	keywords []string
	allow    []*allowlist

	own       bool                     // matches begin with a keyword
	reach     int                      // maximum bytes of a match of an own rule
	before    func(text string) bool   // judges the text before a match, can be nil
	plausible func(secret string) bool // can be nil

	pathOnce sync.Once // guards paths
	paths    *regexp.Regexp

	once    sync.Once // guards pattern and near
	pattern *regexp.Regexp
	near    *near
}

func (r *rule) compile() {
	if r.own {
		r.pattern = compile(`\A(?:`+r.regex+`)`, everything)
		return
	}
	r.pattern = compile(r.regex, everything)
	r.near = newNear(r.regex, r.keywords)
}

func (r *rule) ofFile(name string) bool {
	r.pathOnce.Do(func() { r.paths = compile(r.path, everything) })
	return r.paths.MatchString(name)
}

func (r *rule) apply(list []finding, in *subject, positions []int32, global []*allowlist) []finding {
	r.once.Do(r.compile)
	if r.path != "" && !r.ofFile(in.path) {
		return list
	}
	if r.own {
		return r.applyOwn(list, in, positions)
	}
	var matches [][]int
	if r.near != nil && positions != nil {
		matches = r.near.find(r.pattern, in.text, positions)
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

func (r *rule) judge(in *subject, start, end int, global []*allowlist) (finding, bool) {
	whole := strings.TrimLeft(in.text[start:end], "\n")
	first := end - len(whole)
	match := strings.TrimRight(whole, "\n")
	from, to := r.secret(match)
	secret := match[from:to]
	if r.entropy != 0 && entropy(secret) <= r.entropy {
		return finding{}, false
	}
	if r.plausible != nil && !r.plausible(secret) {
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

// Like gitleaks, secret looks only at match and not at the text around it.
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

// Like gitleaks, entropy divides by the number of bytes.
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
	slices.Sort(counts[utf8.RuneSelf:]) // the sum of floats depends on the order
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
