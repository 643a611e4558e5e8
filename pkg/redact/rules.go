package redact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zricethezav/gitleaks/v8/config"
)

// rulebook is what the gitleaks module carries: its rules and the allow-list
// that holds for all of them.
type rulebook struct {
	rules []*rule
	allow []*allowlist
}

// shipped returns the rules that the module carries, read once.
var shipped = sync.OnceValues(func() (*rulebook, error) { return readRules(config.DefaultConfig) })

// readRules reads rules in gitleaks' format.
func readRules(text string) (*rulebook, error) {
	var (
		book  = &rulebook{}
		table string
		r     = tomlReader{text: text}
	)
	err := r.read(func(name string, _ bool) error {
		table = strings.ToLower(name)
		return book.begin(table)
	}, func(key string, v tomlValue) error {
		target, form := book.field(table, strings.ToLower(key))
		if form != v.form {
			return fmt.Errorf("line %d: %s %s is unknown, or no %s", 1+strings.Count(r.text[:r.pos], "\n"), table, key, v.form)
		}
		target(v)
		return nil
	})
	if err == nil {
		err = book.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return book, nil
}

// begin starts a table.
func (b *rulebook) begin(table string) error {
	switch table {
	case "rules":
		b.rules = append(b.rules, &rule{})
		return nil
	case "allowlist", "allowlists":
		b.allow = append(b.allow, &allowlist{})
		return nil
	case "rules.allowlist", "rules.allowlists":
		if len(b.rules) > 0 {
			last := b.rules[len(b.rules)-1]
			last.allow = append(last.allow, &allowlist{})
			return nil
		}
	}
	return fmt.Errorf("table %s is unknown", table)
}

// field returns what takes the value of a key of the present table, and the
// form that it has to have; none for keys that are unknown.
func (b *rulebook) field(table, key string) (set func(tomlValue), form tomlForm) {
	switch table {
	case "":
		if key == "title" || key == "minversion" {
			return func(tomlValue) {}, tomlText
		}
	case "rules":
		return b.rules[len(b.rules)-1].field(key)
	case "allowlist", "allowlists":
		return b.allow[len(b.allow)-1].field(key)
	default:
		last := b.rules[len(b.rules)-1]
		return last.allow[len(last.allow)-1].field(key)
	}
	return nil, ""
}

func (r *rule) field(key string) (set func(tomlValue), form tomlForm) {
	switch key {
	case "id":
		return func(v tomlValue) { r.id = v.text }, tomlText
	case "description":
		return func(tomlValue) {}, tomlText
	case "regex":
		return func(v tomlValue) { r.regex = v.text }, tomlText
	case "path":
		return func(v tomlValue) { r.path = v.text }, tomlText
	case "entropy":
		return func(v tomlValue) { r.entropy = v.number }, tomlNumber
	case "secretgroup":
		return func(v tomlValue) { r.group = int(v.number) }, tomlNumber
	case "tags":
		return func(tomlValue) {}, tomlList
	case "keywords":
		return func(v tomlValue) { r.keywords = lowered(v.list) }, tomlList
	}
	return nil, ""
}

func (a *allowlist) field(key string) (set func(tomlValue), form tomlForm) {
	switch key {
	case "description":
		return func(tomlValue) {}, tomlText
	case "condition":
		return func(v tomlValue) { a.all = v.text == "&&" || strings.EqualFold(v.text, "and") }, tomlText
	case "regextarget":
		return func(v tomlValue) { a.target = v.text }, tomlText
	case "regexes":
		return func(v tomlValue) { a.regexes = v.list }, tomlList
	case "stopwords":
		return func(v tomlValue) { a.stopwords = lowered(v.list) }, tomlList
	case "paths", "commits":
		return func(v tomlValue) { a.elsewhere = a.elsewhere || len(v.list) > 0 }, tomlList
	}
	return nil, ""
}

func lowered(list []string) []string {
	low := make([]string, len(list))
	for i, s := range list {
		low[i] = strings.ToLower(s)
	}
	return low
}

// check refuses what scanning relies on not to be there.
func (b *rulebook) check() error {
	seen := map[string]bool{}
	lists := slices.Clone(b.allow)
	for _, r := range b.rules {
		if r.id == "" || seen[r.id] || r.regex == "" && r.path == "" {
			return fmt.Errorf("rule %q: no id, one that is taken, or neither regex nor path", r.id)
		}
		seen[r.id] = true
		lists = append(lists, r.allow...)
		if slices.ContainsFunc(r.keywords, func(word string) bool { return word == "" || !isASCII(word) }) {
			return fmt.Errorf("rule %s: a keyword is empty or not ASCII", r.id)
		}
	}
	for _, a := range lists {
		if err := a.check(); err != nil {
			return fmt.Errorf("allow-list: %w", err)
		}
	}
	return nil
}

func (a *allowlist) check() error {
	if len(a.regexes)+len(a.stopwords) == 0 && !a.elsewhere || slices.Contains(a.stopwords, "") {
		return errors.New("it says nothing, or has an empty stop word")
	}
	if !slices.Contains([]string{"", targetSecret, targetMatch, targetLine}, a.target) {
		return fmt.Errorf("regex target %q is unknown", a.target)
	}
	return nil
}
