package redact

import (
	"cmp"
	"slices"
	"strings"
)

const secretMarker = "[SECRET_REDACTED]"

const markerEnd = "_REDACTED]"

func markerOf(rule string) string { return "[" + strings.ToUpper(rule) + markerEnd }

func markersIn(text string) []region {
	var list []region
	for i := 0; ; {
		n := strings.Index(text[i:], markerEnd)
		if n < 0 {
			return list
		}
		end := i + n + len(markerEnd)
		if start := strings.LastIndexByte(text[i:end], '['); start >= 0 {
			whole := text[i+start : end]
			if whole == secretMarker || slices.ContainsFunc(Personal(), func(id string) bool { return whole == markerOf(id) }) {
				list = append(list, region{start: i + start, end: end})
			}
		}
		i = end
	}
}

type region struct {
	start, end int
	marker     string
	shown      int // position of the marker after replacement
}

const maxRounds = 10

type cleaner struct {
	redactor *Redactor
	known    *known
}

func (c *cleaner) clean(in subject, name string) (string, []Span) {
	if len(in.text) < minText {
		return in.text, nil
	}
	var (
		spans   []finding // with positions in the original text
		regions []region
		now     = in
	)
	for range maxRounds {
		found := c.find(&now, name)
		if len(found) == 0 {
			return now.text, toSpans(spans)
		}
		for _, f := range found {
			spans = append(spans, finding{f.rule, origin(regions, f.start, false), origin(regions, f.end, true), f.secret})
		}
		regions = merge(spans)
		now = subject{text: show(in.text, regions), path: in.path}
	}
	spans = append(spans, finding{rule: spans[len(spans)-1].rule, end: len(in.text), secret: true})
	return secretMarker, toSpans(spans)
}

const minText = len("a@b.cd")

// find searches for secrets first, because the password in "user:password@host" would otherwise
// become a part of an e-mail address.
func (c *cleaner) find(in *subject, name string) []finding {
	r := c.redactor
	found := r.secrets.find(nil, in)
	if name != "" {
		found = r.findNamed(found, in, name)
	}
	found = c.findEncoded(found, in)
	for _, f := range found {
		c.known.add(f.rule, in.text[f.start:f.end])
	}
	if found = outside(c.known.find(found, in.text), in.text); len(found) > 0 {
		return found
	}
	return outside(r.personal.find(nil, in.text), in.text)
}

const genericKey = "generic-api-key"

func (c *cleaner) findEncoded(list []finding, in *subject) []finding {
	var v *view
	now := in
	for range maxViews {
		if v = v.next(now.text); v == nil {
			break
		}
		keywords := now.keywords || v.joins
		now = &subject{text: v.text, path: in.path, keywords: keywords, view: v}
		find := c.redactor.secrets.find
		if !keywords {
			find = func(list []finding, in *subject) []finding { return c.redactor.secrets.findSeeds(list, in.text) }
		}
		for _, f := range find(nil, now) {
			if f.rule == genericKey && isHash(v.text, f.start, f.end) {
				continue
			}
			c.known.add(f.rule, v.text[f.start:f.end])
			f.start, f.end = v.original(f.start, f.end)
			list = append(list, f)
		}
	}
	return list
}

const maxNamed = 1 << 10

func (r *Redactor) findNamed(list []finding, in *subject, name string) []finding {
	if len(in.text) > maxNamed || len(name) > maxNamed || !r.secrets.names(name) {
		return list
	}
	head := `"` + name + `": "`
	both := subject{text: head + in.text + `"`, path: in.path}
	for _, f := range r.secrets.find(nil, &both) {
		f.start, f.end = f.start-len(head), f.end-len(head)
		if f.start >= 0 && f.end <= len(in.text) && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

func outside(found []finding, text string) []finding {
	if len(found) == 0 {
		return nil
	}
	markers := markersIn(text)
	if len(markers) == 0 {
		return found
	}
	kept := found[:0]
	for _, f := range found {
		rest := f.end - f.start
		first, _ := slices.BinarySearchFunc(markers, f.start, func(m region, start int) int { return cmp.Compare(m.end, start+1) })
		start, end := f.start, f.end
		for _, m := range markers[first:] {
			if m.start >= f.end {
				break
			}
			rest -= min(m.end, f.end) - max(m.start, f.start)
			start, end = min(start, m.start), max(end, m.end)
		}
		if rest > 0 {
			kept = append(kept, finding{f.rule, start, end, f.secret})
		}
	}
	return kept
}

func merge(spans []finding) []region {
	sorted := slices.SortedFunc(slices.Values(spans), compare)
	var list []region
	shift := 0
	for i := 0; i < len(sorted); {
		f := sorted[i]
		m := region{start: f.start, end: f.end, marker: secretMarker}
		secret := false
		for ; i < len(sorted) && (sorted[i].start < m.end || sorted[i].start == m.start); i++ {
			m.end = max(m.end, sorted[i].end)
			secret = secret || sorted[i].secret
		}
		if !secret {
			m.marker = markerOf(f.rule)
		}
		m.shown = m.start + shift
		shift += len(m.marker) - (m.end - m.start)
		list = append(list, m)
	}
	return list
}

func compare(a, b finding) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), strings.Compare(a.rule, b.rule))
}

func show(text string, regions []region) string {
	var b strings.Builder
	at := 0
	for _, m := range regions {
		b.WriteString(text[at:m.start])
		b.WriteString(m.marker)
		at = m.end
	}
	b.WriteString(text[at:])
	return b.String()
}

func origin(regions []region, shown int, end bool) int {
	i, exact := slices.BinarySearchFunc(regions, shown, func(m region, shown int) int { return cmp.Compare(m.shown, shown) })
	if exact && !end {
		return regions[i].start
	}
	if i == 0 {
		return shown
	}
	m := regions[i-1]
	behind := shown - (m.shown + len(m.marker))
	switch {
	case behind >= 0:
		return m.end + behind
	case end:
		return m.end
	default:
		return m.start
	}
}

func toSpans(found []finding) []Span {
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, compare)
	found = slices.CompactFunc(found, func(a, b finding) bool { return compare(a, b) == 0 })
	spans := make([]Span, len(found))
	for i, f := range found {
		spans[i] = Span{Rule: f.rule, Start: f.start, End: f.end}
	}
	return spans
}
