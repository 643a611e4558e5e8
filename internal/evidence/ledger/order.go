package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// No checkpoint starts like an order, so one cannot pass for the other.
const orderHeader = "hooktrail/order/v1\n"

// MaxOrderBytes bounds a signed order, which travels in an event.
const MaxOrderBytes = 512 << 10

// MaxOrderRanges is a number of leaf ranges that always fits into one order.
const MaxOrderRanges = 10_000

// Order is a signed statement that destroys payloads, sets or lifts a hold, changes the
// signing key, adds or revokes an issuer of grants, sets a rule for other orders, or
// acknowledges findings of a verification. It travels in an audit.accessed event. It takes
// effect once, at the place
// of that event in the stream, if the ledger's key signed it. Its text has one line for
// each field that is set, in this order:
//
//	hooktrail/order/v1
//	tenant acme
//	action erase
//	id 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01
//	time 2026-11-20T09:14:07.123456789Z
//	by jdoe
//	reason subject request
//	ticket DSR-88
//	run r-42
//	tree 91204 CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//	leaves 3-17 20 25-30
//
// The selection has the lines run, event, user, kind, from and to. A lift has a line
// "hold" with the id of the hold. A change of the key has "old" and "key" with the two
// verifier keys, and both keys sign it. A floor has a line "floor" with seconds. A rule of
// a second person has the lines "approvers", "for" and "within", see [SecondPerson]. An
// order about an issuer has a line "issuer" with its public key. An acknowledgement has
// "findings" with their ids, separated by spaces. Values are escaped as in a [Leaf].
type Order struct {
	Tenant string
	Action events.AuditAction
	ID     string // unique; a lift names a hold by it
	Time   time.Time
	By     string // a person
	Reason string
	Ticket string

	Selection OrderSelection
	Hold      string        // for a lift: the id of the hold
	Old       string        // for a change of the key: the key that was in charge
	Key       string        // the new verifier key
	Issuer    string        // to add or revoke: the public key, an nkey of a user
	Floor     time.Duration // for a floor: the least retention, in whole seconds; 0 ends it
	Second    SecondPerson  // for approvers: the rule; the zero value ends it
	Findings  []string      // for an acknowledgement: ids of findings, see the verifier

	// Size and Root identify the tree of Leaves. A ledger with another tree, which was built
	// from a younger stream, uses the Selection instead.
	Size   int64
	Root   tlog.Hash
	Leaves LeafRanges // the selected leaves; for a hold, the leaves it covered at once
}

// OrderSelection selects the records that match all fields that are set.
type OrderSelection struct {
	Run   string    `json:"run,omitempty"`
	Event string    `json:"event,omitempty"`
	User  string    `json:"user,omitempty"` // userid of an event
	Kind  string    `json:"kind,omitempty"` // pattern of kinds for [path.Match], such as "tool.*"
	From  time.Time `json:"from,omitzero"`  // inclusive
	To    time.Time `json:"to,omitzero"`    // exclusive; for pruning, the time at which a record was stored
}

// IsAll reports whether s selects every record.
func (s OrderSelection) IsAll() bool { return s == OrderSelection{} }

func (s OrderSelection) namesSubject() bool { return s.Run == "" && s.Event == "" && s.User == "" }

// Sign returns o as a signed note.
func (o Order) Sign(signer note.Signer) ([]byte, error) { return o.sign(signer) }

func (o Order) sign(signers ...note.Signer) ([]byte, error) {
	text, err := o.Text()
	if err != nil {
		return nil, err
	}
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		return nil, fmt.Errorf("sign order: %w", err)
	}
	if len(signed) > MaxOrderBytes {
		return nil, fmt.Errorf("sign order: order has %d bytes, the limit is %d: shorten the reason or split the selection", len(signed), MaxOrderBytes)
	}
	return signed, nil
}

// OpenOrder returns the order of a signed note in the form of [Order.Sign], if exactly one
// of keys and no other key signed it.
func OpenOrder(signed []byte, keys note.Verifiers) (Order, error) {
	if len(signed) > MaxOrderBytes {
		return Order{}, fmt.Errorf("%w: larger than %d bytes", errOrder, MaxOrderBytes)
	}
	n, err := note.Open(signed, keys)
	if err != nil {
		return Order{}, fmt.Errorf("open order: %w", err)
	}
	if !IsOnlySigned(signed, n) {
		return Order{}, fmt.Errorf("%w: it has something besides one signature", errOrder)
	}
	o, err := ParseOrder(n.Text)
	if err == nil && o.Action == events.AuditKey {
		err = fmt.Errorf("%w: the new key has not signed it", errOrder)
	}
	return o, err
}

func orderOf(event []byte) (Order, error) {
	signed, err := signedOrderOf(event)
	if err != nil {
		return Order{}, err
	}
	return readSignedOrder([]byte(signed))
}

func signedOrderOf(event []byte) (string, error) {
	e, err := events.Decode(event)
	if err != nil {
		return "", err
	}
	d, err := events.Payload[events.AuditAccessedData](e)
	return d.Order, err
}

func readSignedOrder(signed []byte) (Order, error) {
	text, _, ok := strings.Cut(string(signed), "\n\n")
	if !ok || len(signed) > MaxOrderBytes {
		return Order{}, fmt.Errorf("%w: not a signed note", errOrder)
	}
	return ParseOrder(text + "\n")
}

var errOrder = errors.New("not an order")

// Effect is the effect of an order at its place in the stream.
type Effect string

// The effects.
const (
	EffectDone Effect = "done" // the order was executed
	EffectHeld Effect = "held" // a hold blocked the order and no payload was destroyed
	EffectVoid Effect = "void" // the hold to lift is not in force, or another key had replaced the old one

	EffectFloor    Effect = "floor"    // the retention floor blocked the order and no payload was destroyed
	EffectProposed Effect = "proposed" // the order waits for its approval
	EffectExpired  Effect = "expired"  // its approval came too late
)

// Outcome is an order in a ledger and its effect.
type Outcome struct {
	Leaf    int64
	Order   Order
	Effect  Effect
	Removed int64 // number of records whose payloads it destroyed
}
