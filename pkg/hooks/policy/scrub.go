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

// Scrubber is the policy scrubPii or scrubSecrets. It replaces personal data or
// secrets in the result of a tool with markers such as "[EMAIL_REDACTED]". Names
// of members and numbers stay unchanged.
//
// Strict replaces all findings of the package redact in the result, the error,
// its stack and the context. A result that is not JSON is an error. Compat
// replaces e-mail addresses in the result.
type Scrubber struct {
	name     string
	redactor *redact.Redactor // nil for the e-mail addresses of compat
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

// NewSecretScrubber returns the policy scrubSecrets, which is the same in both
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

// Name returns the name of the policy.
func (s *Scrubber) Name() string { return s.name }

// PostToolUse returns the redacted outcome, or nil without findings.
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

// document redacts the strings of a JSON document. It wraps the document in a
// list, because the redactor adds its findings to an object.
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

// email matches the e-mail addresses of compat.
var email = regexp.MustCompile(`[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}`)

// scrubEmails replaces e-mail addresses in the string values of a document. It
// returns other text unchanged.
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

// stringSize returns the length of the string at the start of valid JSON.
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

// scrubToken replaces e-mail addresses in a JSON string and reports whether it
// found any.
func scrubToken(token string) (string, bool) {
	var text string
	if json.Unmarshal([]byte(token), &text) != nil || !email.MatchString(text) {
		return "", false
	}
	clean, err := hooks.Marshal(email.ReplaceAllString(text, "[EMAIL_REDACTED]"))
	return string(clean), err == nil
}
