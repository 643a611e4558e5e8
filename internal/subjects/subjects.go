// Package subjects names everything that Hooktrail puts on NATS: subjects,
// streams, durables and headers. It is the only place that builds or splits a
// subject.
//
//	hooktrail.ev.<tenant>.<producer>.<run>.<kind>   an event
//	hooktrail.chain.<tenant>.<producer>             a producer's manifests
//	hooktrail.dlq.<consumer>                        what a consumer could not handle
//
// Every id is encoded to one token that no other id encodes to, so that no id,
// whatever it contains, can reach the subject of another.
package subjects

import (
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DefaultPrefix stands before every subject.
const DefaultPrefix = "hooktrail."

// DefaultStreamPrefix stands before every stream name.
const DefaultStreamPrefix = "HOOKTRAIL_"

// Space is one deployment's part of an account: the prefixes under which all
// of its subjects and streams lie. The zero Space has the default prefixes.
type Space struct {
	Prefix       string // of subjects, ends with a dot; empty means DefaultPrefix
	StreamPrefix string // of stream names; empty means DefaultStreamPrefix
}

func (s Space) prefix() string {
	if s.Prefix == "" {
		return DefaultPrefix
	}
	return s.Prefix
}

func (s Space) stream(name string) string {
	if s.StreamPrefix == "" {
		return DefaultStreamPrefix + name
	}
	return s.StreamPrefix + name
}

// EventStream names the stream of events and manifests.
func (s Space) EventStream() string { return s.stream("EV") }

// DeadLetterStream names the stream of dead letters.
func (s Space) DeadLetterStream() string { return s.stream("DLQ") }

// AdvisoryStream names the stream of alarms about the other streams.
func (s Space) AdvisoryStream() string { return s.stream("ADV") }

// Event returns the subject of an event.
func (s Space) Event(tenant, producer, run string, kind events.Kind) (string, error) {
	var b strings.Builder
	b.WriteString(s.prefix())
	b.WriteString("ev")
	for _, part := range [...]struct{ name, id string }{
		{"tenant", tenant}, {"producer", producer}, {"run", run}, {"kind", string(kind)},
	} {
		token, err := Token(part.id)
		if err != nil {
			return "", fmt.Errorf("%s id: %w", part.name, err)
		}
		b.WriteByte('.')
		b.WriteString(token)
	}
	return b.String(), nil
}

// Chain returns the subject of a producer's manifests.
func (s Space) Chain(tenant, producer string) (string, error) {
	t, err := Token(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant id: %w", err)
	}
	p, err := Token(producer)
	if err != nil {
		return "", fmt.Errorf("producer id: %w", err)
	}
	return s.prefix() + "chain." + t + "." + p, nil
}

// DeadLetter returns the subject of a consumer's dead letters.
func (s Space) DeadLetter(consumer string) (string, error) {
	c, err := Token(consumer)
	if err != nil {
		return "", fmt.Errorf("consumer name: %w", err)
	}
	return s.prefix() + "dlq." + c, nil
}

// AllEvents is the filter of every event, AllChains that of every manifest,
// AllDeadLetters that of every dead letter.
func (s Space) AllEvents() string { return s.prefix() + "ev.>" }

// AllChains is the filter of every manifest.
func (s Space) AllChains() string { return s.prefix() + "chain.>" }

// AllDeadLetters is the filter of every dead letter.
func (s Space) AllDeadLetters() string { return s.prefix() + "dlq.>" }

// Tenant returns the filters of one tenant's events and manifests.
func (s Space) Tenant(tenant string) ([]string, error) {
	t, err := Token(tenant)
	if err != nil {
		return nil, fmt.Errorf("tenant id: %w", err)
	}
	return []string{s.prefix() + "ev." + t + ".>", s.prefix() + "chain." + t + ".>"}, nil
}

// Address is what a subject says of the message on it. A manifest has neither
// Run nor Kind.
type Address struct {
	Tenant   string
	Producer string
	Run      string
	Kind     events.Kind
	Manifest bool
}

// Parse splits a subject of events or manifests.
func (s Space) Parse(subject string) (Address, error) {
	rest, ok := strings.CutPrefix(subject, s.prefix())
	if !ok {
		return Address{}, fmt.Errorf("subject %q: prefix %q missing", subject, s.prefix())
	}
	tokens := strings.Split(rest, ".")
	want := map[string]int{"ev": 5, "chain": 3}[tokens[0]]
	if want == 0 || len(tokens) != want {
		return Address{}, fmt.Errorf("subject %q: neither an event's nor a manifest's", subject)
	}
	ids := make([]string, 4)
	for i, token := range tokens[1:] {
		id, err := ParseToken(token)
		if err != nil {
			return Address{}, fmt.Errorf("subject %q: %w", subject, err)
		}
		ids[i] = id
	}
	return Address{
		Tenant: ids[0], Producer: ids[1], Run: ids[2],
		Kind: events.Kind(ids[3]), Manifest: want == 3,
	}, nil
}
