package ledger

import (
	"context"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Reasons why a grant of an issuer does not count.
const (
	IssuerUnknown = "its issuer is unknown"
	IssuerRevoked = "its issuer was revoked before"
)

// Issuers decides which grants count. It uses the orders in the ledger that add or revoke an
// issuer. The zero value has no orders.
type Issuers struct{ orders []issuerOrder }

type issuerOrder struct {
	leaf int64
	Order
}

// IsIssuerOrder reports whether an order with this action adds or revokes an issuer.
func IsIssuerOrder(action events.AuditAction) bool {
	return action == events.AuditIssuer || action == events.AuditRevoke
}

// Add adds the order in the event at leaf, if the order adds or revokes an issuer. The caller must
// check the signature, and add orders by ascending leaf.
func (s *Issuers) Add(leaf int64, o Order) {
	if IsIssuerOrder(o.Action) {
		s.orders = append(s.orders, issuerOrder{leaf, o})
	}
}

// SignedIssuers returns the orders that add or revoke an issuer. An order counts only if its
// signing key was valid at its leaf. orders must be in the ledger and sorted by leaf.
func SignedIssuers(keys Keys, tenant string, orders []KeyOrder) (s Issuers) {
	seen := make(map[string]bool)
	for _, k := range orders {
		o, err := OpenOrder([]byte(k.Signed), keys.At(k.Leaf))
		if err != nil || o.Tenant != tenant || seen[o.ID] {
			continue
		}
		seen[o.ID] = true
		s.Add(k.Leaf, o)
	}
	return s
}

// Has reports whether s contains the order in the event at leaf.
func (s *Issuers) Has(leaf int64) bool {
	return slices.ContainsFunc(s.orders, func(o issuerOrder) bool { return o.leaf == leaf })
}

// Fault returns why a grant of the issuer key is rejected, or "" if the grant is accepted. An
// order that adds the issuer also counts if its leaf comes after the grant, because producers do
// not wait for the order.
func (s *Issuers) Fault(key string, isEndorsed bool, leaf int64, stored time.Time) string {
	fault := IssuerUnknown
	if isEndorsed {
		fault = ""
	}
	for _, o := range s.orders {
		switch {
		case o.Issuer != key:
		case o.leaf > leaf && fault == IssuerRevoked:
			return fault
		case o.Action == events.AuditIssuer:
			fault = ""
		case o.leaf < leaf, !o.Selection.From.IsZero() && !stored.Before(o.Selection.From):
			fault = IssuerRevoked
		}
	}
	return fault
}

// Trusted returns the public keys of the issuers that an order added and no later order revoked.
// The keys are sorted.
func (s *Issuers) Trusted() (keys []string) {
	now := make(map[string]bool)
	for _, o := range s.orders {
		now[o.Issuer] = o.Action == events.AuditIssuer
	}
	for key, trusted := range now {
		if trusted {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Orders returns the orders, the oldest first.
func (s *Issuers) Orders() []Order {
	list := make([]Order, len(s.orders))
	for i, o := range s.orders {
		list[i] = o.Order
	}
	return list
}

// IssuerLeaves returns the leaves of all orders that add or revoke an issuer. Their signatures are
// not checked.
func IssuerLeaves(conn *sqlite.Conn) ([]int64, error) {
	return sqlitetx.Ints(conn, "SELECT leaf FROM orders NOT INDEXED WHERE action IN ('issuer', 'revoke') ORDER BY leaf")
}

// Issuers reads the orders about issuers without checking signatures.
func (r Orders) Issuers(ctx context.Context) (s Issuers, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		leaves, err := IssuerLeaves(conn)
		for _, leaf := range leaves {
			if err != nil {
				break
			}
			var o Order
			o, err = ReadOrder(conn, leaf)
			s.Add(leaf, o)
		}
		return err
	})
	return s, err
}
