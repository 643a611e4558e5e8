package ledger

import (
	"context"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Reasons why a ledger rejects a grant, with which an issuer confirms the signing key of a
// producer.
const (
	IssuerUnknown = "its issuer is unknown"
	IssuerRevoked = "its issuer was revoked before"
)

// Issuers contains the orders in a ledger that add or revoke an issuer, which is a key that may
// confirm the signing keys of producers. The zero value has no orders.
type Issuers struct{ orders []issuerOrder }

type issuerOrder struct {
	leaf int64
	Order
}

// IsIssuerOrder reports whether an order with this action adds an issuer, which confirms the keys
// of producers, or revokes one.
func IsIssuerOrder(action events.AuditAction) bool {
	return action == events.AuditIssuer || action == events.AuditRevoke
}

// Add adds the order in the record with the given leaf number. It ignores an order that does not
// add or revoke an issuer. The caller must check the signature, and add the orders by ascending
// leaf.
func (s *Issuers) Add(leaf int64, o Order) {
	if IsIssuerOrder(o.Action) {
		s.orders = append(s.orders, issuerOrder{leaf, o})
	}
}

// SignedIssuers returns those of the given orders that add or revoke an issuer, and whose signing
// key was valid when the ledger recorded the order. The orders must be in the ledger and sorted by
// leaf.
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

// Has reports whether the record with this leaf number contains one of the orders in s.
func (s *Issuers) Has(leaf int64) bool {
	return slices.ContainsFunc(s.orders, func(o issuerOrder) bool { return o.leaf == leaf })
}

// Fault returns why the ledger rejects a grant by the issuer with the given key, or "" if it
// accepts the grant. leaf and stored are the place and time of the grant. The order that adds the
// issuer may come after the grant, because producers do not wait for the order.
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

// Trusted returns the sorted public keys of the issuers that an order added and no later order
// revoked.
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

// Orders returns the orders that add or revoke an issuer, the oldest first.
func (s *Issuers) Orders() []Order {
	list := make([]Order, len(s.orders))
	for i, o := range s.orders {
		list[i] = o.Order
	}
	return list
}

// IssuerLeaves returns the leaf numbers of all orders that add or revoke an issuer. It does not
// check their signatures.
func IssuerLeaves(conn *sqlite.Conn) ([]int64, error) {
	return sqlitetx.Ints(conn, "SELECT leaf FROM orders NOT INDEXED WHERE action IN ('issuer', 'revoke') ORDER BY leaf")
}

// Issuers reads the orders that add or revoke an issuer, without checking their signatures.
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
