package verifier

import (
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// AnchorState says whether evidence from outside the ledger confirms its signing key.
type AnchorState string

// The values of [AnchorState].
const (
	AnchorPinned   AnchorState = "PINNED"   // the user saw the key before
	AnchorGiven    AnchorState = "GIVEN"    // the user named or confirmed the key
	AnchorNone     AnchorState = "NONE"     // only the data directory or the bundle itself names the key
	AnchorDiverged AnchorState = "DIVERGED" // another key is pinned, and no signed change connects the two
)

// Anchor describes the evidence from outside the data directory that confirms the ledger's signing
// key.
type Anchor struct {
	State  AnchorState `json:"state"`            // PINNED, GIVEN, NONE or DIVERGED
	Key    string      `json:"key,omitempty"`    // id of the pinned key
	Of     string      `json:"of,omitempty"`     // data directory of the pinned key, if known
	Since  time.Time   `json:"since,omitzero"`   // when the user first saw the key
	By     string      `json:"by,omitempty"`     // option that confirmed the key, such as "--key"
	Reason string      `json:"reason,omitempty"` // why the state is AnchorNone or AnchorDiverged, with the remedy
}

// Pin is a ledger key that the user has seen before. It is stored outside the data directory.
type Pin struct {
	Key    note.Verifier // must be from [ledger.ParseKey]
	Origin string        // origin of the ledgers; empty for all
	Of     string        // data directory of the key, if known
	Seen   time.Time
	// Binding means that the pin belongs to this ledger. If the ledger has another key, and no
	// signed changes lead to that key, the state is [AnchorDiverged].
	Binding bool
}

// Anchoring lists the keys that the user trusts, because an option names them or the user has
// pinned them. The verifier compares them with the ledger's key. A nil Anchoring means that the
// caller has already checked the key.
type Anchoring struct {
	Given string // option that named the key, such as "--key", if any
	Pins  []Pin
	// Void says why the key that the user named confirms nothing, for example because the key is
	// from the data directory itself.
	Void string
}

func (p Pin) covers(tenant string) bool {
	if p.Origin == "" {
		return true
	}
	origin, err := ledger.Origin(tenant)
	return err == nil && origin == p.Origin
}

// Vouch checks whether signed key changes connect the ledger's key with a key that the user has
// pinned. If so, it returns the keys that are connected with the pinned key. Otherwise, it returns
// the keys that are connected with the given key, which may be nil. leads reports whether keys
// include the key that signed the ledger.
func (a *Anchoring) Vouch(key note.Verifier, tenant string, orders []ledger.KeyOrder, leads func(ledger.Keys) bool) (ledger.Keys, *Anchor) {
	var own ledger.Keys
	if key != nil {
		own = ledger.LinkKeys(key, tenant, orders)
	}
	if a == nil {
		return own, nil
	}
	pins, binding := a.covering(tenant)
	for _, p := range pins {
		keys := ledger.LinkKeys(p.Key, tenant, orders)
		switch {
		case !leads(keys):
		case a.Given != "":
			return own, &Anchor{State: AnchorGiven, By: a.Given}
		default:
			return keys, &Anchor{State: AnchorPinned, Key: ledger.KeyID(p.Key), Of: p.Of, Since: p.Seen}
		}
	}
	switch {
	case binding:
		return own, diverged(pins[0], key)
	case a.Given != "":
		return own, &Anchor{State: AnchorGiven, By: a.Given}
	}
	return own, &Anchor{State: AnchorNone, Reason: a.Void}
}

func (a *Anchoring) covering(tenant string) (pins []Pin, binding bool) {
	for _, p := range a.Pins {
		switch {
		case !p.covers(tenant) || binding && !p.Binding:
		case p.Binding && !binding:
			pins, binding = []Pin{p}, true
		default:
			pins = append(pins, p)
		}
	}
	return pins, binding
}

func diverged(p Pin, key note.Verifier) *Anchor {
	of, has := "", "no key"
	if p.Of != "" {
		of = " for " + p.Of
	}
	if key != nil {
		has = ledger.KeyID(key)
	}
	return &Anchor{
		State: AnchorDiverged, Key: ledger.KeyID(p.Key), Of: p.Of, Since: p.Seen,
		Reason: fmt.Sprintf("the key is %s, but %s is pinned%s since %s, and no signed change of the key connects them: "+
			"restore the ledger and its key, or, if the owner confirms the new key, pin it with auditor key pin --key",
			has, ledger.KeyID(p.Key), of, p.Seen.UTC().Format(time.RFC3339)),
	}
}

func (v *verifier) anchorKeys(tenant string, orders []ledger.KeyOrder) {
	v.keys, v.report.Anchor = v.opts.Anchor.Vouch(v.opts.Key, tenant, orders, func(k ledger.Keys) bool {
		return k.Chain.Index(v.opts.Key, 0) >= 0
	})
}

func (r *Report) concludeAnchor() {
	if r.Anchor == nil || r.Anchor.State != AnchorNone {
		return
	}
	if r.Trusted != nil && !r.Trusted.Diverged {
		r.Anchor.give("--trusted")
		return
	}
	for _, k := range r.Anchored {
		if !k.Unusable && !k.WithLedger && !k.Diverged {
			r.Anchor.give(k.From)
			return
		}
	}
	r.Anchor.Witnessed(r.Witnesses)
	if r.Anchor.State == AnchorNone {
		key := "its key"
		if r.Checkpoint != nil {
			key = r.Checkpoint.Key
		}
		r.Anchor.Remedy(key)
	}
}

func (a *Anchor) give(by string) { a.State, a.By, a.Reason = AnchorGiven, by, "" }

// Witnessed changes the state [AnchorNone] to [AnchorGiven] if the witnesses in w satisfy the
// user's policy.
func (a *Anchor) Witnessed(w *Witnesses) {
	if a.State == AnchorNone && w != nil && w.Met {
		a.give("--witness-policy")
	}
}

// Remedy appends to a.Reason how the user can confirm the ledger's key. key is the id of this key.
func (a *Anchor) Remedy(key string) {
	if a.Reason != "" {
		a.Reason += ", and "
	}
	a.Reason += fmt.Sprintf("nothing from elsewhere says that %s is the right key: "+
		"compare it with what the owner of the ledger says, and name it with --key or pin it with auditor key pin", key)
}

// Exit returns the exit status that follows from the anchor alone.
func (a *Anchor) Exit() int {
	switch {
	case a == nil:
		return ExitVerified
	case a.State == AnchorDiverged:
		return ExitDiverged
	case a.State == AnchorNone:
		return ExitUnanchored
	}
	return ExitVerified
}
