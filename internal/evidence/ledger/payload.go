package ledger

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A payload contains the members of the JSON object in an event. Only the strict form of
// docs/verifier.md is valid, because JSON libraries disagree about cases such as repeated names.
type payload struct {
	members map[string]json.RawMessage
	failed  bool
}

const maxMembers = 64

func payloadOf(e events.Event) *payload {
	p := &payload{members: make(map[string]json.RawMessage), failed: len(e.Data) == 0 || e.Data[0] != '{'}
	for name, value := range events.Members(e.Data) {
		if _, twice := p.members[name]; twice || !isMemberName(name) || len(p.members) == maxMembers {
			p.failed = true
			break
		}
		p.members[name] = value
	}
	return p
}

func isMemberName(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return name != ""
}

func (p *payload) text(name string) string {
	value := p.members[name]
	text, ok := events.TextOf(value)
	p.failed = p.failed || !ok && !isAbsent(value)
	return text
}

// number accepts only digits, because programs read signs, fractions and exponents differently.
func (p *payload) number(name string) (n uint64) {
	value := p.members[name]
	if isAbsent(value) {
		return 0
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	p.failed = p.failed || err != nil
	return n
}

func isAbsent(value json.RawMessage) bool { return value == nil || bytes.Equal(value, []byte("null")) }

// SealIn decodes the payload of a run.sealed event. ok is false if the payload is invalid.
func SealIn(e events.Event) (d events.RunSealedData, ok bool) {
	p := payloadOf(e)
	d = events.RunSealedData{Count: p.number("count"), First: p.number("first"), Last: p.number("last"), Digest: p.text("digest")}
	return d, !p.failed
}

// GapIn decodes the payload of a gap.recorded event. ok is false if the payload is invalid.
func GapIn(e events.Event) (d events.GapRecordedData, ok bool) {
	p := payloadOf(e)
	d = events.GapRecordedData{First: p.number("first"), Last: p.number("last"), Reason: p.text("reason")}
	return d, !p.failed
}

// LossIn decodes the payload of a producer.lost event. ok is false if the payload is invalid.
func LossIn(e events.Event) (d events.ProducerLostData, ok bool) {
	p := payloadOf(e)
	d = events.ProducerLostData{Producer: p.text("producer"), Outbox: p.text("outbox"), Last: p.number("last"), Key: p.text("key")}
	return d, !p.failed && d.Producer != ""
}

// OrderIn returns the signed order that an audit.accessed event contains, or "" if it contains
// none. OrderIn does not check the signature.
func OrderIn(e events.Event) string {
	p := payloadOf(e)
	if signed := p.text("order"); !p.failed {
		return signed
	}
	return ""
}
