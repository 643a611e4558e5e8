package redact

import (
	"cmp"
	"slices"
	"strings"
)

const (
	minKnown = 8   // bytes of a secret
	maxKnown = 100 // number of secrets
)

type known struct {
	rules []string
	texts []string
}

func (k *known) add(rule, secret string) {
	if len(secret) < minKnown || len(k.texts) == maxKnown || slices.Contains(k.texts, secret) || strings.Contains(secret, markerEnd) {
		return
	}
	k.rules, k.texts = append(k.rules, rule), append(k.texts, secret)
}

func (k *known) find(list []finding, text string) []finding {
	if len(k.texts) == 0 {
		return list
	}
	covered := merge(list)
	for i, secret := range k.texts {
		for at := 0; ; {
			n := strings.Index(text[at:], secret)
			if n < 0 {
				break
			}
			f := finding{rule: k.rules[i], start: at + n, end: at + n + len(secret), secret: true}
			at = f.end
			last, exact := slices.BinarySearchFunc(covered, f.start, func(m region, start int) int { return cmp.Compare(m.start, start) })
			if !exact {
				last--
			}
			if last < 0 || covered[last].end < f.end {
				list = append(list, f)
			}
		}
	}
	return list
}
