// Package deferral finds work that was put off in what agents write, in English,
// at the end of a step.
package deferral

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSummary bounds the text that is searched for deferred work, in bytes: of a
// longer one the end, where such things are said.
const maxSummary = 16 << 10

// Items returns the work that text says was put off, an item each, in its
// order. It reads sentence by sentence, leaves out code and quotations, and
// prefers to miss an item over inventing one: a label ("Follow-up: add retry",
// "TODO: …", "Out of scope: …", "Next steps:" and a list) or a clause that says
// so ("deferred the lexer", "the lexer is out of scope") makes an item, unless
// it is denied ("no follow-up needed") or undone ("removed all TODO comments").
func Items(text string) []string {
	if len(text) > maxSummary {
		text = text[len(text)-maxSummary:]
	}
	var items []string
	underLabel := false
	for line := range strings.Lines(withoutCode(strings.ToValidUTF8(text, ""))) {
		line = strings.TrimSpace(emphasis.Replace(line))
		bullet := bulletMark.FindString(line)
		body := strings.TrimSpace(line[len(bullet):])
		switch {
		case body == "" || strings.HasPrefix(body, ">"):
			continue
		case bullet != "" && underLabel:
			items = appendItem(items, body)
			continue
		}
		if heading := strings.TrimLeft(body, "#"); heading != body {
			body = strings.TrimRight(strings.TrimSpace(heading), ": ") + ":"
		}
		found, open := deferredIn(body)
		items = append(items, found...)
		underLabel = open
	}
	return distinct(items)
}

var (
	emphasis   = strings.NewReplacer("**", "", "__", "")
	fence      = regexp.MustCompile("(?s)```.*?(```|$)")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	quotation  = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”`)
	bulletMark = regexp.MustCompile(`^([-*•+]|\d{1,3}[.)])\s+(\[[ xX]\]\s+)?`)

	sentenceEnd = regexp.MustCompile(`[.!?]+["')\]]*\s+|[.!?]+$`)
	clauseEnd   = regexp.MustCompile(`(?i)[;,]\s+|\s+[–—]\s+|\s+(but|however|whereas|while)\s+`)

	// A label stands at the start of a sentence and names what follows it.
	label = regexp.MustCompile(`(?i)^(follow[- ]?ups?|to-?do(\([^)]*\))?|deferred( work)?|postponed|out of scope|` +
		`left (for later|over|undone)|next steps?|(the )?remaining( work| items| tasks| steps)?( is| are)?|not (yet )?done|still open)\s*:\s*(.*)$`)

	// A clause says of something that it was put off.
	putOff = regexp.MustCompile(`(?i)^(i |we )?(have )?(deferred|postponed) (the|a|an|all|this|that|it|to|until|for|some|most|\d+)\b|` +
		`\b(is|are|was|were|been|be|being) (deferred|postponed|left (for later|undone|for (a|the|another) \w+))\b|` +
		`\b(is|are|was|were|remains?) out of scope\b|` +
		`\bleft .* for (later|a later|another|a follow-?up|the next)\b|` +
		`\b(needs?|requires?|deserves?) an? (\w+ )?follow[- ]?up\b|` +
		`\bin an? (\w+ )?follow[- ]?up\b|` +
		`\b(remains?|still (needs?|has|have)) to be (done|implemented|fixed|migrated|written|added|tested)\b|` +
		`^(the )?next step (is|will be|would be) to\b|` +
		`^skipped .* (for now|because|until|due to)\b`)

	denied = regexp.MustCompile(`(?i)\b(no|not|nothing|none|never|neither|nor|without|zero)\b|n't\b|\b(if|unless|whether)\b`)
	undone = regexp.MustCompile(`(?i)\b(removed?|deleted?|resolved?|cleared|closed|completed?|implemented|finished|addressed|` +
		`cleaned up|fixed|done with|picked up|no longer|previously|earlier|already)\b`)
	nothing = regexp.MustCompile(`(?i)^(none|nothing|no|n/?a|nil|null|false|empty|-+|all done|done)\b[\s\w]{0,40}[.!]?$|^[^\pL\pN]*$`)
)

// withoutCode blanks what text only shows: fenced and inline code, quotations.
func withoutCode(text string) string {
	text = fence.ReplaceAllString(text, "\n")
	text = quotation.ReplaceAllString(text, " ")
	// Inline code stays, as the name of a thing, unless it is a marker itself.
	return inlineCode.ReplaceAllStringFunc(text, func(code string) string {
		if code = strings.Trim(code, "`"); strings.ContainsAny(code, ":(") {
			return " "
		}
		return code
	})
}

// deferredIn returns the items of one line, and whether it ends in a label that
// a list may follow.
func deferredIn(line string) (items []string, open bool) {
	for _, s := range sentences(line) {
		open = false
		if m := label.FindStringSubmatch(s); m != nil {
			rest := m[len(m)-1]
			open = rest == ""
			for part := range strings.SplitSeq(rest, ";") {
				items = appendItem(items, part)
			}
			continue
		}
		for _, clause := range clauseEnd.Split(s, -1) {
			if putOff.MatchString(clause) && !denied.MatchString(clause) && !undone.MatchString(clause) {
				items = appendItem(items, clause)
			}
		}
	}
	return items, open
}

// sentences splits a line after its full stops, exclamation and question marks.
func sentences(line string) []string {
	var out []string
	for line != "" {
		end := sentenceEnd.FindStringIndex(line)
		if end == nil {
			return append(out, line)
		}
		if s := strings.TrimSpace(line[:end[0]]); s != "" {
			out = append(out, s)
		}
		line = line[end[1]:]
	}
	return out
}

// appendItem appends item unless it says that there is none.
func appendItem(items []string, item string) []string {
	item = strings.TrimRight(clean(item, 300), " .,:;")
	if item == "" || saysNothing(item) || utf8.RuneCountInString(item) < 3 {
		return items
	}
	return append(items, item)
}

func saysNothing(item string) bool { return nothing.MatchString(item) }

// Done returns the items that summary says are done now: "Done: add docs".
func Done(summary string) []string {
	if len(summary) > maxSummary {
		summary = summary[len(summary)-maxSummary:]
	}
	var items []string
	for line := range strings.Lines(withoutCode(strings.ToValidUTF8(summary, ""))) {
		for _, s := range sentences(strings.TrimSpace(emphasis.Replace(line))) {
			if m := doneLabel.FindStringSubmatch(s); m != nil {
				items = appendItem(items, m[len(m)-1])
			}
		}
	}
	return distinct(items)
}

var doneLabel = regexp.MustCompile(`(?i)^(done|completed( follow[- ]?up)?|finished|resolved)\s*:\s*(.*)$`)

// maxItems bounds what one summary has.
const maxItems = 50

// distinct returns items without those that have the key of an earlier one.
func distinct(items []string) []string {
	seen := make(map[string]bool)
	var out []string
	for _, item := range items {
		if key := Key(item); key != "" && !seen[key] && len(out) < maxItems {
			seen[key] = true
			out = append(out, item)
		}
	}
	return out
}

// Key returns what two wordings of one item share: its letters, digits and
// signs in lower case, one space between words, no punctuation at its ends.
func Key(item string) string {
	s := strings.Join(strings.Fields(strings.ToLower(item)), " ")
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
}

// clean returns s on one line without control characters, at most limit runes.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}
