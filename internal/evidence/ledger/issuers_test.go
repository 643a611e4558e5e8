package ledger

import (
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestIssuers(t *testing.T) {
	var s Issuers
	add := func(leaf int64, action events.AuditAction, key string) {
		s.Add(leaf, Order{Action: action, Issuer: key})
	}
	add(10, events.AuditIssuer, "a")
	add(20, events.AuditRevoke, "a")
	add(30, events.AuditIssuer, "a")
	add(40, events.AuditRevoke, "b")
	add(50, events.AuditErase, "c")
	for _, tc := range []struct {
		key  string
		leaf int64
		want string
	}{
		{"a", 5, ""},
		{"a", 15, ""},
		{"a", 25, IssuerRevoked},
		{"a", 35, ""},
		{"b", 5, IssuerUnknown},
		{"b", 45, IssuerRevoked},
		{"c", 60, IssuerUnknown},
		{"", 60, IssuerUnknown},
	} {
		if got := s.Fault(tc.key, tc.leaf); got != tc.want {
			t.Errorf("issuer %q at leaf %d: %q, want %q", tc.key, tc.leaf, got, tc.want)
		}
	}
	if got := s.Trusted(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("trusted are %v", got)
	}
	if n := len(s.Orders()); n != 4 {
		t.Errorf("%d orders, want 4", n)
	}
}
