package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// Scrubber is the policy scrubPii or scrubSecrets: it puts markers such as
// "[EMAIL_REDACTED]" in the place of personal data or secrets in what a tool
// answers, before anybody sees it. Names of members and numbers stay.
//
// Strict finds all personal data that the package redact knows, in the result,
// the error, its stack and the context; a result that is no JSON is an error.
// Compat finds e-mail addresses in the result.
type Scrubber struct {
	name     string
	redactor *redact.Redactor // nil: e-mail addresses as compat sees them
}

// NewPIIScrubber returns the policy scrubPii.
func NewPIIScrubber(opts Options) (*Scrubber, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("scrubPii: %w", err)
	}
	s := &Scrubber{name: "policy.scrubPii"}
	if opts.compat() {
		return s, nil
	}
	r, err := redact.New(redact.Options{Only: redact.Personal()})
	if err != nil {
		return nil, fmt.Errorf("scrubPii: %w", err)
	}
	s.redactor = r
	return s, nil
}

// NewSecretScrubber returns the policy scrubSecrets. It is the same in both
// modes.
func NewSecretScrubber(opts Options) (*Scrubber, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("scrubSecrets: %w", err)
	}
	r, err := redact.New(redact.Options{Without: redact.Personal()})
	if err != nil {
		return nil, fmt.Errorf("scrubSecrets: %w", err)
	}
	return &Scrubber{name: "policy.scrubSecrets", redactor: r}, nil
}

// Name is the policy's name.
func (s *Scrubber) Name() string { return s.name }

// PostToolUse returns the outcome without what was found, nil if that is nothing.
func (s *Scrubber) PostToolUse(_ context.Context, _ hooks.Meta, _ hooks.ToolDone, out hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	clean := out
	var err error
	if s.redactor == nil {
		clean.Result = scrubEmails(out.Result)
	} else {
		if clean.Result, err = s.document(out.Result); err != nil {
			return nil, fmt.Errorf("%s: result: %w", s.name, err)
		}
		clean.Error, _ = s.redactor.Text(out.Error)
		clean.Stack, _ = s.redactor.Text(out.Stack)
		clean.Context, _ = s.redactor.Text(out.Context)
	}
	if clean == out {
		return nil, nil //nolint:nilnil // keep the outcome
	}
	return &clean, nil
}

// document cleans the strings of a JSON document. It lends it to an event inside
// of a list: to an object, the redactor would add what it found.
func (s *Scrubber) document(j hooks.JSON) (hooks.JSON, error) {
	if j == "" {
		return "", nil
	}
	e := events.Event{Data: json.RawMessage("[" + string(j) + "]")}
	if err := s.redactor.Redact(&e); err != nil {
		return "", fmt.Errorf("redact: %w", err)
	}
	return hooks.JSON(strings.TrimSuffix(strings.TrimPrefix(string(e.Data), "["), "]")), nil
}

// email is what compat takes for an e-mail address.
var email = regexp.MustCompile(`[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}`)

// scrubEmails replaces e-mail addresses in the string values of a document,
// which is left as it is if it is no JSON.
func scrubEmails(j hooks.JSON) hooks.JSON {
	if !strings.Contains(string(j), "@") && !strings.Contains(string(j), `\u`) || !j.Valid() {
		return j
	}
	var b strings.Builder
	changed := false
	for rest := string(j); rest != ""; {
		start := strings.IndexByte(rest, '"')
		if start < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:start])
		size := stringSize(rest[start:])
		token := rest[start : start+size]
		rest = rest[start+size:]
		if name := strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":"); !name {
			if clean, ok := scrubToken(token); ok {
				token, changed = clean, true
			}
		}
		b.WriteString(token)
	}
	if !changed {
		return j
	}
	return hooks.JSON(b.String())
}

// stringSize returns how long the string is that valid JSON begins with.
func stringSize(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// scrubToken replaces e-mail addresses in one JSON string, if it has any.
func scrubToken(token string) (string, bool) {
	var text string
	if json.Unmarshal([]byte(token), &text) != nil || !email.MatchString(text) {
		return "", false
	}
	clean, err := hooks.Marshal(email.ReplaceAllString(text, "[EMAIL_REDACTED]"))
	return string(clean), err == nil
}
