package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/fingerprint"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/metadata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type failure struct {
	Type       string   `json:"type,omitempty"`
	Role       string   `json:"role,omitempty"`
	Target     string   `json:"target,omitempty"`
	Class      string   `json:"class,omitempty"`
	Message    string   `json:"message,omitempty"` // message of the first failure
	Generation int      `json:"generation,omitempty"`
	Issue      string   `json:"issue,omitempty"`
	Digest     string   `json:"digest,omitempty"` // digest listing the failure if Issue is empty
	Entry      int      `json:"entry,omitempty"`  // number in Digest
	Critical   bool     `json:"critical,omitempty"`
	Last       Stamp    `json:"last,omitzero"`
	FirstRun   string   `json:"first_run,omitempty"`
	LastRun    string   `json:"last_run,omitempty"`
	Good       fact     `json:"good,omitzero"` // latest recovery in LastRun
	Scopes     []string `json:"scopes,omitempty"`
}

var failures = table[failure]{"failure", func(f *failure) { f.Scopes = slices.Clone(f.Scopes) }}

type scope struct {
	Good     fact     `json:"good,omitzero"`      // latest success
	Failures []string `json:"failures,omitempty"` // failures in the scope with an open issue
}

var scopes = table[scope]{"scope", func(s *scope) { s.Failures = slices.Clone(s.Failures) }}

const (
	maxScopes  = 16 // maximum number of scopes of a failure
	maxOpen    = 64 // maximum number of failures of a scope
	maxFailing = 16 // maximum number of failing steps of a run
)

func indexFailure(r records, id string, fl *failure) {
	for _, s := range fl.Scopes {
		if sc := scopes.get(r, s); sc != nil && slices.Contains(sc.Failures, id) {
			continue
		}
		sc := scopes.edit(r, s)
		if len(sc.Failures) >= maxOpen {
			sc.Failures = slices.Delete(sc.Failures, 0, 1)
		}
		sc.Failures = append(sc.Failures, id)
	}
}

func unindexFailure(r records, id string, fl *failure) {
	for _, s := range fl.Scopes {
		sc := scopes.edit(r, s)
		sc.Failures = slices.DeleteFunc(sc.Failures, func(other string) bool { return other == id })
	}
}

func (fl *failure) follower() string { return cmp.Or(fl.Issue, fl.Digest) }

func (fl *failure) title(c *Config) string {
	if fl.Class != "" {
		return issueTitle(c, "infrastructure failure", strings.ReplaceAll(fl.Class, "_", " "))
	}
	what := []string{clean(fl.Type, 40), clean(fl.Role, 60)}
	if fl.Role == "" {
		what = append(what, "run")
	}
	what = append(what, "failed")
	if fl.Target != "" {
		what = append(what, "at", clean(fl.Target, 100))
	}
	return issueTitle(c, strings.Join(strings.Fields(strings.Join(what, " ")), " "), clean(fl.Message, 200))
}

type trouble struct {
	Text  string
	Class string
}

func troubleOf(err *events.Failure, summary string, meta map[string]any) trouble {
	t := trouble{Class: metadata.Name(meta["error_class"])}
	if err != nil {
		t.Text = fingerprint.Plain(err.Message)
		if err.Class != "" {
			t.Class = err.Class
		}
	}
	if strings.TrimSpace(t.Text) == "" {
		t.Text, _, _ = strings.Cut(strings.TrimSpace(summary), "\n")
	}
	return t
}

// say returns a short form of the error for people.
func (t trouble) say() string { return clean(cmp.Or(strings.TrimSpace(t.Text), t.Class), 200) }

func failed(name, text string) string {
	if text != "" {
		text = ": " + text
	}
	return sentence(name + " failed" + text)
}

func (c *Config) infrastructure(t trouble) string {
	return fingerprint.Infrastructure(t.Class, t.Text, c.Infrastructure, c.Ordinary)
}

func (t trouble) ofStep(status events.StepStatus) events.StepStatus {
	if status == events.StepFailed && fingerprint.ByPerson(t.Class, t.Text) {
		return events.StepInterrupted
	}
	return status
}

func (t trouble) ofRun(status events.RunStatus) events.RunStatus {
	if status == events.RunFailed && fingerprint.ByPerson(t.Class, t.Text) {
		return events.RunInterrupted
	}
	return status
}

type identity struct {
	Type   string
	Role   string // empty for the end of a run
	Target string
	Text   string // normalised error
	Class  string // infrastructure class, which identifies the failure alone
}

func (i identity) key(tenant string) string {
	if i.Class != "" {
		return ID(tenant, "infrastructure", i.Class)
	}
	return ID(tenant, "failure", i.Type, i.Role, i.Target, i.Text)
}

func (i identity) scope(tenant string) string { return ID(tenant, "scope", i.Type, i.Role, i.Target) }
