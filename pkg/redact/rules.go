package redact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

type rulebook struct {
	rules []*rule
	own   []*rule
	allow []*allowlist
}

var shipped = sync.OnceValues(func() (*rulebook, error) {
	book, err := readRules(config.DefaultConfig)
	if err == nil {
		book.own = ownRules()
	}
	return book, err
})

// An unknown key in a rule file of gitleaks is an error, because a rule may need it.
type ruleFile struct {
	Title      string
	MinVersion string
	Rules      []ruleEntry
	Allowlist  *allowEntry
	Allowlists []allowEntry
}

type ruleEntry struct {
	ID          string
	Description string
	Regex       string
	Path        string
	Entropy     float64
	SecretGroup int
	Keywords    []string
	Tags        []string
	Allowlist   *allowEntry
	Allowlists  []allowEntry
}

type allowEntry struct {
	Description string
	Condition   string
	RegexTarget string
	Regexes     []string
	StopWords   []string
	Paths       []string
	Commits     []string
}

func readRules(text string) (*rulebook, error) {
	file, ok := readQuick(text)
	if !ok {
		var err error
		if file, err = readFully(text); err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
	}
	book := &rulebook{allow: allowlists(file.Allowlist, file.Allowlists)}
	for _, e := range file.Rules {
		book.rules = append(book.rules, &rule{
			id: e.ID, regex: e.Regex, path: e.Path, entropy: e.Entropy, group: e.SecretGroup,
			keywords: lowered(e.Keywords), allow: allowlists(e.Allowlist, e.Allowlists),
		})
	}
	if err := book.check(); err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return book, nil
}

func readFully(text string) (file ruleFile, err error) {
	err = toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&file)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		err = fmt.Errorf("unknown keys:\n%s", strict.String())
	}
	return file, err
}

func allowlists(one *allowEntry, more []allowEntry) []*allowlist {
	if one != nil {
		more = append([]allowEntry{*one}, more...)
	}
	lists := make([]*allowlist, len(more))
	for i, e := range more {
		lists[i] = &allowlist{
			all: e.Condition == "&&" || strings.EqualFold(e.Condition, "and"), target: e.RegexTarget,
			regexes: e.Regexes, stopwords: lowered(e.StopWords), elsewhere: len(e.Paths)+len(e.Commits) > 0,
		}
	}
	return lists
}

func lowered(list []string) []string {
	low := make([]string, len(list))
	for i, s := range list {
		low[i] = strings.ToLower(s)
	}
	return low
}

func (b *rulebook) check() error {
	seen := map[string]bool{}
	lists := slices.Clone(b.allow)
	for _, r := range b.rules {
		if r.id == "" || seen[r.id] || r.regex == "" && r.path == "" {
			return fmt.Errorf("rule %q: the id is missing or repeated, or the rule has neither regex nor path", r.id)
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
		return errors.New("no conditions, or an empty stop word")
	}
	if !slices.Contains([]string{"", targetSecret, targetMatch, targetLine}, a.target) {
		return fmt.Errorf("unknown regex target %q", a.target)
	}
	return nil
}
