package redact

import (
	"fmt"
	"slices"
)

// The rules for personal data. The rules for secrets have gitleaks' ids.
const (
	Email = "email"
	Card  = "card"
	IBAN  = "iban"
	Phone = "phone"
	IP    = "ip"
)

// Personal returns the ids of the rules for personal data.
func Personal() []string { return []string{Email, Card, IBAN, Phone, IP} }

// Options say what is redacted. The zero Options have all rules on.
type Options struct {
	Only    []string // rules that are on; empty: all
	Without []string // rules that are off
}

// Redactor replaces secrets and personal data. It is immutable and safe for
// concurrent use.
type Redactor struct {
	secrets  *detector
	personal personal
}

// Span is something that was found: a range of bytes of the text as it came, and
// the id of the rule that found it. Spans of several rules can overlap.
type Span struct {
	Rule       string
	Start, End int
}

// New returns a Redactor. It fails if an option names a rule that does not exist.
func New(opts Options) (*Redactor, error) {
	book, err := shipped()
	if err != nil {
		return nil, err
	}
	known := Personal()
	for _, r := range book.rules {
		known = append(known, r.id)
	}
	for _, id := range slices.Concat(opts.Only, opts.Without) {
		if !slices.Contains(known, id) {
			return nil, fmt.Errorf("redact: there is no rule %q", id)
		}
	}
	on := func(id string) bool {
		return (len(opts.Only) == 0 || slices.Contains(opts.Only, id)) && !slices.Contains(opts.Without, id)
	}
	return &Redactor{secrets: newDetector(book, on), personal: newPersonal(on)}, nil
}

func isPersonalRule(id string) bool { return slices.Contains(Personal(), id) }

// Text returns s with a marker in the place of all that was found, such as
// "[EMAIL_REDACTED]", and what was found, ordered by where it begins. Without
// findings it returns s itself. Text of its own result finds nothing.
func (r *Redactor) Text(s string) (string, []Span) {
	c := cleaner{redactor: r, known: &known{}}
	return c.clean(subject{text: s}, "")
}
