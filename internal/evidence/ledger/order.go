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

// orderHeader is the first line of every order. It differs from the first line of a checkpoint, so
// that a signature of one is never valid for the other.
const orderHeader = "hooktrail/order/v1\n"

// MaxOrderBytes is the maximum size of a signed order, which must fit into an event.
const MaxOrderBytes = 512 << 10

// MaxOrderRanges is the maximum number of ranges of leaf numbers in one order from [Order.Split].
const MaxOrderRanges = 10_000

// Order is a signed instruction to a ledger, such as to destroy payloads, to set a hold, or to
// change the key. It arrives in an audit.accessed event, takes effect once, and only if the
// ledger's key signed it. Its text has one line for each field that is set:
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
// Items of a list are separated by spaces. Values are escaped as in a [Leaf].
type Order struct {
	Tenant string
	Action events.AuditAction
	ID     string
	Time   time.Time
	By     string // a person
	Reason string
	Ticket string

	Selection OrderSelection
	Hold      string        // id of the hold to lift
	Old       string        // verifier key to replace
	Key       string        // new verifier key
	Issuer    string        // public key of the issuer, a user nkey
	Floor     time.Duration // minimum retention, in whole seconds; 0 removes the floor
	Second    SecondPerson  // the zero value removes the rule
	Findings  []string      // ids of acknowledged findings

	// Size and Root identify the ledger to which the numbers in Leaves refer. In any other ledger,
	// only Selection counts.
	Size   int64
	Root   tlog.Hash
	Leaves LeafRanges // for a hold, the leaves that existed when it was ordered
}

// OrderSelection selects the records that match all of its fields that are not empty.
type OrderSelection struct {
	Run   string    `json:"run,omitempty"`
	Event string    `json:"event,omitempty"`
	User  string    `json:"user,omitempty"` // userid attribute of the event
	Kind  string    `json:"kind,omitempty"` // pattern, as in [path.Match], such as "tool.*"
	From  time.Time `json:"from,omitzero"`  // inclusive
	To    time.Time `json:"to,omitzero"`    // exclusive; to prune, compared with Target.Stored
}

// IsAll reports whether s selects every record.
func (s OrderSelection) IsAll() bool { return s == OrderSelection{} }

func (s OrderSelection) namesSubject() bool { return s.Run == "" && s.Event == "" && s.User == "" }

// Sign encodes the order and returns it as a signed note.
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

// OpenOrder checks that a note has exactly one signature, by one of the given keys, and returns the
// order in the note.
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

// PeekOrder returns the order in a signed note, and the key hash of the signer, such as "8f3c1a2b".
// It checks no signature, so both may be forged.
func PeekOrder(signed string) (o Order, signer string, err error) {
	if o, err = readSignedOrder([]byte(signed)); err != nil {
		return o, "", err
	}
	_, err = note.Open([]byte(signed), note.VerifierList())
	unverified, ok := errors.AsType[*note.UnverifiedNoteError](err)
	if !ok {
		return o, "", fmt.Errorf("%w: not a signed note", errOrder)
	}
	return o, fmt.Sprintf("%08x", unverified.Note.UnverifiedSigs[0].Hash), nil
}

func readSignedOrder(signed []byte) (Order, error) {
	text, _, ok := strings.Cut(string(signed), "\n\n")
	if !ok || len(signed) > MaxOrderBytes {
		return Order{}, fmt.Errorf("%w: not a signed note", errOrder)
	}
	return ParseOrder(text + "\n")
}

var errOrder = errors.New("not an order")

// Effect says whether a ledger executed an order, or why it did not.
type Effect string

// The effects.
const (
	EffectDone Effect = "done" // executed
	EffectHeld Effect = "held" // a hold blocked the order
	EffectVoid Effect = "void" // no such hold to lift, or the key to replace was replaced before

	EffectFloor    Effect = "floor"    // the retention floor blocked the order
	EffectProposed Effect = "proposed" // waits for a second person
	EffectExpired  Effect = "expired"  // the second person signed too late
)

// Outcome is an order that a ledger has recorded, and its effect.
type Outcome struct {
	Leaf    int64
	Order   Order
	Effect  Effect
	Removed int64 // destroyed payloads
}
