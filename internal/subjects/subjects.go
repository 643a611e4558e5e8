// Package subjects defines the names that Hooktrail uses on NATS: subjects, streams, durables and
// headers. No other package builds or parses a subject.
//
//	hooktrail.ev.<tenant>.<producer>.<run>.<kind>   an event
//	hooktrail.chain.<tenant>.<producer>             a producer's manifests
//	hooktrail.dlq.<consumer>                        dead letters of a consumer
//	hooktrail.decide.<tenant>                       a request for a decision
//
// [Token] encodes each id as one token of a subject. Different ids have different tokens, so an
// event can never reach the subject of another id.
package subjects

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DefaultPrefix is the default prefix of subjects.
const DefaultPrefix = "hooktrail."

// DefaultStreamPrefix is the default prefix of stream names.
const DefaultStreamPrefix = "HOOKTRAIL_"

// Space contains the name prefixes of one deployment. With different prefixes, several deployments
// can share a NATS account.
type Space struct {
	Prefix       string // prefix of subjects with a final dot. Empty means DefaultPrefix
	StreamPrefix string // prefix of stream names. Empty means DefaultStreamPrefix
}

// Validate returns an error if a prefix is invalid.
func (s Space) Validate() error {
	tokens, ok := strings.CutSuffix(s.prefix(), ".")
	for token := range strings.SplitSeq(tokens, ".") {
		ok = ok && isName(token)
	}
	if !ok || len(s.prefix()) > maxPrefix {
		return fmt.Errorf("subject prefix %q: want letters, digits, - and _ in parts that end with a dot", clip(s.Prefix))
	}
	if name := s.stream(""); !isName(name) || len(name) > maxPrefix {
		return fmt.Errorf("stream prefix %q: want letters, digits, - and _", clip(s.StreamPrefix))
	}
	return nil
}

// maxPrefix keeps the longest subject below the NATS limit for a control line.
const maxPrefix = 64

func isName(s string) bool {
	for i := range len(s) {
		if !isPlain(s[i]) {
			return false
		}
	}
	return s != ""
}

func (s Space) prefix() string {
	return cmp.Or(s.Prefix, DefaultPrefix)
}

func (s Space) stream(name string) string {
	return cmp.Or(s.StreamPrefix, DefaultStreamPrefix) + name
}

// EventStream returns the name of the stream with events and manifests.
func (s Space) EventStream() string { return s.stream("EV") }

// DeadLetterStream returns the name of the stream with dead letters.
func (s Space) DeadLetterStream() string { return s.stream("DLQ") }

// AdvisoryStream returns the name of the stream with the server's advisories about the event
// stream.
func (s Space) AdvisoryStream() string { return s.stream("ADV") }

// Event returns the subject of an event.
func (s Space) Event(tenant, producer, run string, kind events.Kind) (string, error) {
	return subject(s, "ev", part{"tenant id", tenant}, part{"producer id", producer}, part{"run id", run}, part{"kind id", string(kind)})
}

type part struct{ name, id string }

func subject(s Space, branch string, parts ...part) (string, error) {
	size := len(s.prefix()) + len(branch)
	for _, p := range parts {
		size += 4 + len(p.id) // a dot and some escapes
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(s.prefix())
	b.WriteString(branch)
	for _, p := range parts {
		token, err := Token(p.id)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.name, err)
		}
		b.WriteByte('.')
		b.WriteString(token)
	}
	return b.String(), nil
}

// Chain returns the subject on which a producer publishes its manifests for a tenant.
func (s Space) Chain(tenant, producer string) (string, error) {
	return subject(s, "chain", part{"tenant id", tenant}, part{"producer id", producer})
}

// DeadLetter returns the subject of a consumer's dead letters.
func (s Space) DeadLetter(consumer string) (string, error) {
	return subject(s, "dlq", part{"consumer name", consumer})
}

// AllEvents returns the filter for all events.
func (s Space) AllEvents() string { return s.prefix() + "ev.>" }

// AllChains returns the filter for all manifests.
func (s Space) AllChains() string { return s.prefix() + "chain.>" }

// AllDeadLetters returns the filter for all dead letters.
func (s Space) AllDeadLetters() string { return s.prefix() + "dlq.>" }

// Tenant returns the filters for the events and the manifests of one tenant.
func (s Space) Tenant(tenant string) ([]string, error) {
	t, err := Token(tenant)
	if err != nil {
		return nil, fmt.Errorf("tenant id: %w", err)
	}
	return []string{s.prefix() + "ev." + t + ".>", s.prefix() + "chain." + t + ".>"}, nil
}

// Address contains the ids in the subject of an event or of a manifest. The subject of a manifest
// has no Run and no Kind.
type Address struct {
	Tenant   string
	Producer string
	Run      string
	Kind     events.Kind
	Manifest bool
}

// Parse parses the subject of an event or a manifest.
func (s Space) Parse(subject string) (Address, error) {
	rest, ok := strings.CutPrefix(subject, s.prefix())
	if !ok {
		return Address{}, fmt.Errorf("subject %q: prefix %q missing", clip(subject), s.prefix())
	}
	branch, rest, _ := strings.Cut(rest, ".")
	var a Address
	ids := []*string{&a.Tenant, &a.Producer, &a.Run, (*string)(&a.Kind)}
	switch branch {
	case "ev":
	case "chain":
		a.Manifest = true
		ids = ids[:2]
	default:
		return Address{}, fmt.Errorf("subject %q: not a subject of events or manifests", clip(subject))
	}
	if strings.Count(rest, ".") != len(ids)-1 {
		return Address{}, fmt.Errorf("subject %q: want %d tokens after %s", clip(subject), len(ids), branch)
	}
	for _, id := range ids {
		var token string
		var err error
		token, rest, _ = strings.Cut(rest, ".")
		if *id, err = ParseToken(token); err != nil {
			return Address{}, fmt.Errorf("subject %q: %w", clip(subject), err)
		}
	}
	return a, nil
}
