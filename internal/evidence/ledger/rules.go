package ledger

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// SecondPerson is a rule which requires the signature of a second person, so that one person alone
// cannot destroy payloads. The zero value requires nothing.
type SecondPerson struct {
	// Approvers are the sorted verifier keys of the people who may approve. Each key is named
	// after its person.
	Approvers []string
	For       []events.AuditAction // erase, lift or prune, sorted
	Within    time.Duration        // maximum time from order to approval, in whole seconds
}

// IsOff reports whether the rule requires no second person.
func (s SecondPerson) IsOff() bool { return len(s.Approvers)+len(s.For) == 0 && s.Within == 0 }

// Validate returns an error if the rule is not valid.
func (s SecondPerson) Validate() error {
	if s.IsOff() {
		return nil
	}
	if len(s.Approvers) == 0 || len(s.For) == 0 || s.Within <= 0 || s.Within%time.Second != 0 {
		return errors.New("a second person needs approvers, actions and a time in whole seconds")
	}
	if !isAscending(s.Approvers) || !isAscending(s.For) {
		return errors.New("approvers or actions are not sorted")
	}
	for _, action := range s.For {
		if !slices.Contains(SecondPersonActions(), action) {
			return fmt.Errorf("%s needs no second person", action)
		}
	}
	return s.validateApprovers()
}

func (s SecondPerson) validateApprovers() error {
	var names, raw []string
	for _, text := range s.Approvers {
		key, err := ParseKey(text)
		if err != nil || strings.Contains(text, " ") {
			return errors.New("an approver is not a verifier key")
		}
		name := strings.ToLower(key.Name())
		if slices.Contains(names, name) || slices.Contains(raw, rawKey(text)) {
			return fmt.Errorf("approver %s has the name or the key of another one", key.Name())
		}
		names, raw = append(names, name), append(raw, rawKey(text))
	}
	return nil
}

// SecondPersonActions returns the sorted actions that can require a second person.
func SecondPersonActions() []events.AuditAction {
	return []events.AuditAction{events.AuditErase, events.AuditLift, events.AuditPrune}
}

func isAscending[T ~string](list []T) bool {
	for i := range list[min(1, len(list)):] {
		if list[i] >= list[i+1] {
			return false
		}
	}
	return true
}

func rawKey(text string) string {
	parts := strings.SplitN(text, "+", 3)
	return parts[len(parts)-1]
}

// Rules are restrictions that earlier orders have set for later orders. The zero value has no
// restrictions.
type Rules struct {
	Floor  time.Duration // records younger than this cannot be pruned
	Second SecondPerson
}

// Apply updates r if the order sets a rule. The caller must not pass an order that has no effect.
func (r *Rules) Apply(o Order) {
	switch o.Action { //nolint:exhaustive // only these set rules
	case events.AuditFloor:
		r.Floor = o.Floor
	case events.AuditApprovers:
		r.Second = o.Second
	}
}

// Needs reports whether an order needs the approval of a second person. An order that weakens the
// rules needs it too.
func (r Rules) Needs(o Order) bool {
	switch {
	case r.Second.IsOff():
		return false
	case o.Action == events.AuditApprovers:
		return true
	case o.Action == events.AuditFloor:
		return o.Floor < r.Floor
	}
	return slices.Contains(r.Second.For, o.Action)
}

// Expires returns the last time at which a second person can approve the order.
func (r Rules) Expires(o Order) time.Time { return o.Time.Add(r.Second.Within) }

// Protects reports whether the order o must not prune a record, because the record is younger than
// the minimum retention. stored is when the server stored the record, in nanoseconds since 1970. A
// record is protected if stored or at is unknown.
func (r Rules) Protects(stored int64, o Order, at time.Time) bool {
	return o.Action == events.AuditPrune && r.Floor > 0 && (stored == 0 || at.IsZero() || stored > at.Add(-r.Floor).UnixNano())
}

// Open reads an order that one of the given keys signed, and returns the name of the second person
// who approved it. If effect is [EffectProposed] or [EffectExpired], a valid approval is missing,
// so the caller must not execute the order.
func (r Rules) Open(signed []byte, keys note.Verifiers, at time.Time) (o Order, approver string, effect Effect, err error) {
	o, err = OpenOrder(signed, keys)
	if err == nil {
		if r.Needs(o) {
			effect = EffectProposed
		}
		return o, "", effect, nil
	}
	if r.Second.IsOff() {
		return o, "", "", err
	}
	if o, approver, err = r.openApproved(signed, keys); err == nil && at.After(r.Expires(o)) {
		effect = EffectExpired
	}
	return o, approver, effect, err
}

// ApprovedOrder returns the order in a note with two signatures, of which the second is the
// approval of another person. ok is false for other notes. The signatures are not checked.
func ApprovedOrder(signed string) (o Order, ok bool) {
	o, err := readSignedOrder([]byte(signed))
	_, signatures, _ := strings.Cut(signed, "\n\n")
	return o, err == nil && o.Action != events.AuditKey && strings.Count(signatures, "\n") == 2
}

func (r Rules) openApproved(signed []byte, keys note.Verifiers) (o Order, approver string, err error) {
	n, err := r.openTwice(signed, keys)
	if err != nil {
		return o, "", err
	}
	if o, err = ParseOrder(n.Text); err != nil {
		return o, "", err
	}
	if approver = n.Sigs[1].Name; strings.EqualFold(strings.TrimSpace(o.By), approver) {
		return o, "", fmt.Errorf("%w: %s has given and approved it", errOrder, approver)
	}
	if o.Action == events.AuditKey {
		return o, "", fmt.Errorf("%w: the new key has not signed it", errOrder)
	}
	return o, approver, nil
}

func (r Rules) openTwice(signed []byte, keys note.Verifiers) (*note.Note, error) {
	approvers := make([]note.Verifier, len(r.Second.Approvers))
	for i, text := range r.Second.Approvers {
		v, err := ParseKey(text)
		if err != nil {
			return nil, err
		}
		approvers[i] = v
	}
	n, err := note.Open(signed, either{keys, note.VerifierList(approvers...)})
	if err != nil {
		return nil, fmt.Errorf("open order: %w", err)
	}
	if len(n.Sigs) != 2 || len(signed) > MaxOrderBytes || !isAsWritten(signed, n) {
		return nil, fmt.Errorf("%w: it has something besides the signatures of the ledger and an approver", errOrder)
	}
	first, err := keys.Verifier(n.Sigs[0].Name, n.Sigs[0].Hash)
	if err != nil {
		return nil, fmt.Errorf("%w: the ledger's key has not signed it first", errOrder)
	}
	second := slices.IndexFunc(approvers, func(v note.Verifier) bool {
		return v.Name() == n.Sigs[1].Name && v.KeyHash() == n.Sigs[1].Hash
	})
	if second < 0 || isSameRaw(first, r.Second.Approvers[second]) {
		return nil, fmt.Errorf("%w: no approver with another key has signed it", errOrder)
	}
	return n, nil
}

func isSameRaw(v note.Verifier, text string) bool {
	data, err := base64.StdEncoding.DecodeString(rawKey(text))
	if err != nil || len(data) != 1+ed25519.PublicKeySize {
		return true // not an Ed25519 key, so the keys cannot be compared
	}
	renamed, err := note.NewEd25519VerifierKey(v.Name(), data[1:])
	if err != nil {
		return true
	}
	same, err := note.NewVerifier(renamed)
	return err != nil || same.KeyHash() == v.KeyHash()
}

type either struct{ first, second note.Verifiers }

// Verifier implements [note.Verifiers].
func (e either) Verifier(name string, hash uint32) (note.Verifier, error) {
	if v, err := e.first.Verifier(name, hash); err == nil {
		return v, nil
	}
	return e.second.Verifier(name, hash)
}

// Approve appends the approver's signature to an order that one of the given keys has signed.
func Approve(signed []byte, keys note.Verifiers, approver note.Signer) ([]byte, error) {
	n, err := note.Open(signed, keys)
	if err != nil {
		return nil, fmt.Errorf("approve order: %w", err)
	}
	own, err := note.Sign(&note.Note{Text: n.Text}, approver)
	if err != nil {
		return nil, fmt.Errorf("approve order: %w", err)
	}
	_, line, _ := strings.Cut(string(own), n.Text+"\n")
	return append(slices.Clip(signed), line...), nil
}

func formatSeconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

const maxSeconds = int64(1<<63-1) / int64(time.Second)

func parseSeconds(text string) (time.Duration, error) {
	n, err := parseCount(text)
	if err != nil || n > maxSeconds {
		return 0, errors.New("not a number of seconds")
	}
	return time.Duration(n) * time.Second, nil
}
