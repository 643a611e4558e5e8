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

// orderHeader is the first line of every order. No checkpoint begins with it, so
// that nobody can take the one for the other.
const orderHeader = "hooktrail/order/v1\n"

// MaxOrderBytes bounds an order, signed: it travels in an event.
const MaxOrderBytes = 512 << 10

// MaxOrderRanges is how many ranges of leaves fit into one order for certain.
const MaxOrderRanges = 10_000

// Order is the signed statement that makes something change: payloads destroyed,
// held or held no longer, or the key that signs. It travels in an audit.accessed
// event and takes effect in the ledger where that event comes in the stream, if
// the ledger's key has signed it; once, however often it comes. Its text has one
// line for each field that is there, in this order:
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
// The selection has the lines run, event, user, kind, from and to. A lift has
// "hold" and the id of the hold's order, a change of the key "old" and "key" with
// the verifier keys of before and after, which both sign it. In values the bytes
// below 0x20, 0x7f and "%" are "%" and two upper-case hex digits.
type Order struct {
	Tenant string
	Action events.AuditAction // erase, prune, hold, lift or key
	ID     string             // one of its own, by which a lift names a hold
	Time   time.Time          // when it was given
	By     string             // who gave it
	Reason string
	Ticket string

	Selection OrderSelection
	Hold      string // of a lift: the id of the hold
	Old       string // of a change of the key: the verifier key that was in charge
	Key       string // and the new one

	// Size and Root are of the tree to which Leaves belong, as it was when the
	// order was given. In a ledger with another tree there, one that was built
	// from a younger stream, the Selection counts instead.
	Size   int64
	Root   tlog.Hash
	Leaves LeafRanges // what the selection came to; of a hold, what it held at once
}

// OrderSelection says what an order is about: the records that fit all that is
// not empty.
type OrderSelection struct {
	Run   string    `json:"run,omitempty"`
	Event string    `json:"event,omitempty"` // id of an event
	User  string    `json:"user,omitempty"`  // who an event is about: its userid
	Kind  string    `json:"kind,omitempty"`  // pattern of kinds, as of [path.Match]: "tool.*"
	From  time.Time `json:"from,omitzero"`   // only what says that it happened then or later
	To    time.Time `json:"to,omitzero"`     // only what says that it happened before; to prune: what was stored before
}

// IsAll reports whether everything is meant.
func (s OrderSelection) IsAll() bool { return s == OrderSelection{} }

func (s OrderSelection) namesNobody() bool { return s.Run == "" && s.Event == "" && s.User == "" }

// Sign returns the note of o, signed.
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
		return nil, fmt.Errorf("sign order: it has %d bytes, more than %d: shorten what it says, or give several", len(signed), MaxOrderBytes)
	}
	return signed, nil
}

// OpenOrder reads a signed note and returns its order, if exactly one of known
// and nobody else has signed it, in exactly the form that [Order.Sign] gives it.
func OpenOrder(signed []byte, known note.Verifiers) (Order, error) {
	if len(signed) > MaxOrderBytes {
		return Order{}, fmt.Errorf("%w: larger than %d bytes", errOrder, MaxOrderBytes)
	}
	n, err := note.Open(signed, known)
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

// orderOf returns the order that an event brings, whoever signed it.
func orderOf(event []byte) (Order, error) {
	e, err := events.Decode(event)
	if err != nil {
		return Order{}, err
	}
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil {
		return Order{}, err
	}
	return readSignedOrder([]byte(d.Order))
}

// readSignedOrder returns the order of a signed note, whoever signed it.
func readSignedOrder(signed []byte) (Order, error) {
	text, _, ok := strings.Cut(string(signed), "\n\n")
	if !ok || len(signed) > MaxOrderBytes {
		return Order{}, fmt.Errorf("%w: not a signed note", errOrder)
	}
	return ParseOrder(text + "\n")
}

// errOrder is wrapped by every refusal of [ParseOrder].
var errOrder = errors.New("not an order")

// Effect says what an order did where it came in the stream.
type Effect string

// The effects.
const (
	EffectDone Effect = "done" // it was carried out
	EffectHeld Effect = "held" // a hold stood in its way: nothing was destroyed
	EffectVoid Effect = "void" // it lifts a hold that is not in force
)

// Outcome is an order that came, and what it did.
type Outcome struct {
	Leaf    int64 // of the event that brought it
	Order   Order
	Effect  Effect
	Removed int64 // records whose bytes it destroyed
}
