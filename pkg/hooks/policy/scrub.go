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

// Scrubber is the policy scrubPii or scrubSecrets. It replaces personal data or secrets in the
// result of a tool with markers such as "[EMAIL_REDACTED]". Numbers and the names of JSON members
// stay unchanged.
//
// In the strict mode, it replaces everything that package redact finds in the result, in the error
// with its stack and in the context. It fails if the result is not JSON. In the compat mode, it
// replaces only e-mail addresses in the result.
type Scrubber struct {
	name     string
	redactor *redact.Redactor // nil to replace only e-mail addresses, for compat
}

// NewPIIScrubber returns the policy scrubPii.
func NewPIIScrubber(opts Options) (*Scrubber, error) {
	s, err := newScrubber("scrubPii", opts, redact.Options{Only: redact.Personal()})
	if err == nil && opts.compat() {
		s.redactor = nil
	}
	return s, err
}

// NewSecretScrubber returns the policy scrubSecrets. [Options.Mode] has no effect on it.
func NewSecretScrubber(opts Options) (*Scrubber, error) {
	return newScrubber("scrubSecrets", opts, redact.Options{Without: redact.Personal()})
}

func newScrubber(name string, opts Options, kinds redact.Options) (*Scrubber, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r, err := redact.New(kinds)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Scrubber{name: "policy." + name, redactor: r}, nil
}

// Name returns the name of the policy.
func (s *Scrubber) Name() string { return s.name }

// PostToolUse replaces secrets or personal data in the result of a tool with markers. It returns
// nil if there are none.
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
		return nil, nil
	}
	return &clean, nil
}

// document redacts j inside a list, because the redactor would add a member to an object.
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

var email = regexp.MustCompile(`[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}`)

var stringToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(?:\s*:)?`)

func scrubEmails(j hooks.JSON) hooks.JSON {
	if !strings.Contains(string(j), "@") && !strings.Contains(string(j), `\u`) || !j.Valid() {
		return j
	}
	return hooks.JSON(stringToken.ReplaceAllStringFunc(string(j), scrubToken))
}

func scrubToken(token string) string {
	var text string
	if json.Unmarshal([]byte(token), &text) != nil || !email.MatchString(text) {
		return token // a member name, because with its colon, token is invalid JSON
	}
	clean, err := hooks.Marshal(email.ReplaceAllString(text, "[EMAIL_REDACTED]"))
	if err != nil {
		return token
	}
	return string(clean)
}
