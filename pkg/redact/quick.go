package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quickReader reads only the part of TOML that gitleaks rules use, ten times as fast as a full
// parser.
type quickReader struct {
	rest  string
	file  ruleFile
	field func(key string) any // of the current table
	keys  []string             // that the current table already has
}

func readQuick(text string) (ruleFile, bool) {
	if !utf8.ValidString(text) {
		return ruleFile{}, false
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return ruleFile{}, false
		}
	}
	q := &quickReader{rest: text}
	q.field = func(key string) any {
		return map[string]any{"title": &q.file.Title, "minVersion": &q.file.MinVersion}[key]
	}
	for q.space(); q.rest != ""; q.space() {
		if !q.statement() {
			return ruleFile{}, false
		}
	}
	return q.file, true
}

func (q *quickReader) space() {
	for {
		q.rest = strings.TrimLeft(q.rest, " \t\n")
		if !strings.HasPrefix(q.rest, "#") {
			return
		}
		_, q.rest, _ = strings.Cut(q.rest, "\n")
	}
}

func (q *quickReader) take(text string) bool {
	rest, ok := strings.CutPrefix(q.rest, text)
	q.rest = rest
	return ok
}

func (q *quickReader) statement() bool {
	switch {
	case q.take("[[rules]]"):
		q.file.Rules = append(q.file.Rules, ruleEntry{})
		q.table(q.file.Rules[len(q.file.Rules)-1].field)
	case q.take("[[rules.allowlists]]") && len(q.file.Rules) > 0:
		r := &q.file.Rules[len(q.file.Rules)-1]
		r.Allowlists = append(r.Allowlists, allowEntry{})
		q.table(r.Allowlists[len(r.Allowlists)-1].field)
	case q.file.Allowlist == nil && q.take("[allowlist]"):
		q.file.Allowlist = new(allowEntry)
		q.table(q.file.Allowlist.field)
	case !q.assignment():
		return false
	}
	line, rest, _ := strings.Cut(q.rest, "\n")
	q.rest = rest
	line = strings.TrimLeft(line, " \t")
	return line == "" || line[0] == '#'
}

func (q *quickReader) table(field func(key string) any) { q.field, q.keys = field, q.keys[:0] }

func (e *ruleEntry) field(key string) any {
	switch key {
	case "id":
		return &e.ID
	case "description":
		return &e.Description
	case "regex":
		return &e.Regex
	case "path":
		return &e.Path
	case "entropy":
		return &e.Entropy
	case "secretGroup":
		return &e.SecretGroup
	case "keywords":
		return &e.Keywords
	case "tags":
		return &e.Tags
	}
	return nil
}

func (e *allowEntry) field(key string) any {
	switch key {
	case "description":
		return &e.Description
	case "condition":
		return &e.Condition
	case "regexTarget":
		return &e.RegexTarget
	case "regexes":
		return &e.Regexes
	case "stopwords":
		return &e.StopWords
	case "paths":
		return &e.Paths
	case "commits":
		return &e.Commits
	}
	return nil
}

func (q *quickReader) assignment() (ok bool) {
	key, rest, _ := strings.Cut(q.rest, "=")
	key = strings.TrimRight(key, " \t")
	field := q.field(key)
	if field == nil || slices.Contains(q.keys, key) {
		return false
	}
	q.keys = append(q.keys, key)
	q.rest = strings.TrimLeft(rest, " \t")
	switch f := field.(type) {
	case *string:
		*f, ok = q.text()
	case *[]string:
		*f, ok = q.list()
	case *int:
		digits := q.digits()
		number, err := strconv.Atoi(digits)
		*f, ok = number, err == nil && (len(digits) == 1 || digits[0] != '0')
	case *float64:
		*f, ok = q.number()
	}
	return ok
}

func (q *quickReader) text() (text string, ok bool) {
	if q.take("'''") {
		text, q.rest, ok = strings.Cut(strings.TrimPrefix(q.rest, "\n"), "'''")
		return text, ok && !strings.HasPrefix(q.rest, "'")
	}
	if !q.take(`"`) {
		return "", false
	}
	text, q.rest, ok = strings.Cut(q.rest, `"`)
	return text, ok && !strings.ContainsAny(text, "\\\n") && (text != "" || !strings.HasPrefix(q.rest, `"`))
}

func (q *quickReader) list() (list []string, ok bool) {
	if !q.take("[") {
		return nil, false
	}
	list = []string{}
	for more := true; ; more = q.take(",") {
		q.space()
		if q.take("]") {
			return list, true
		}
		text, ok := q.text()
		if !more || !ok {
			return nil, false
		}
		list = append(list, text)
		q.space()
	}
}

func (q *quickReader) digits() (digits string) {
	rest := strings.TrimLeft(q.rest, "0123456789")
	digits, q.rest = q.rest[:len(q.rest)-len(rest)], rest
	return digits
}

func (q *quickReader) number() (float64, bool) {
	text := q.digits()
	if text == "" || len(text) > 1 && text[0] == '0' {
		return 0, false
	}
	if q.take(".") {
		decimals := q.digits()
		if decimals == "" {
			return 0, false
		}
		text += "." + decimals
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}
