package redact

import (
	"fmt"
	"slices"
)

// Ids of the rules for personal data. The rules for secrets have the ids of gitleaks.
const (
	Email = "email"
	Card  = "card"
	IBAN  = "iban"
	Phone = "phone"
	IP    = "ip"
)

// Personal returns the ids of the rules for personal data.
func Personal() []string { return []string{Email, Card, IBAN, Phone, IP} }

// Options selects the rules of a [Redactor].
type Options struct {
	Only    []string // empty for all rules
	Without []string
}

// Redactor replaces secrets and personal data. It is immutable and safe for concurrent use.
type Redactor struct {
	secrets  *detector
	personal personal
}

// Span is a finding of one rule in a text, such as a card number. Start and End are byte positions
// in the original text. Spans of different rules can overlap.
type Span struct {
	Rule       string
	Start, End int
}

// New returns a Redactor. It fails if opts name an unknown rule.
func New(opts Options) (*Redactor, error) {
	book, err := shipped()
	if err != nil {
		return nil, err
	}
	known := append(Personal(), natsSeed)
	for _, r := range slices.Concat(book.rules, book.own) {
		known = append(known, r.id)
	}
	for _, id := range slices.Concat(opts.Only, opts.Without) {
		if !slices.Contains(known, id) {
			return nil, fmt.Errorf("redact: unknown rule %q", id)
		}
	}
	on := func(id string) bool {
		return (len(opts.Only) == 0 || slices.Contains(opts.Only, id)) && !slices.Contains(opts.Without, id)
	}
	return &Redactor{secrets: newDetector(book, on), personal: newPersonal(on)}, nil
}

func isPersonalRule(id string) bool { return slices.Contains(Personal(), id) }

// Text returns s with markers in place of the findings, and the findings ordered by position.
// Redacting the result again finds nothing.
func (r *Redactor) Text(s string) (string, []Span) {
	c := cleaner{redactor: r, known: &known{}}
	return c.clean(subject{text: s}, "")
}
