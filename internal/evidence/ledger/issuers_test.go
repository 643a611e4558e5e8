package ledger

import (
	"slices"
	"testing"
	"time"

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
		key        string
		isEndorsed bool
		leaf       int64
		want       string
	}{
		{"a", false, 5, ""},
		{"a", false, 15, ""},
		{"a", false, 25, IssuerRevoked},
		{"a", false, 35, ""},
		{"b", false, 5, IssuerUnknown},
		{"b", false, 45, IssuerRevoked},
		{"c", false, 60, IssuerUnknown},
		{"", false, 60, IssuerUnknown},
		{"a", true, 25, IssuerRevoked},
		{"b", true, 5, ""},
		{"b", true, 45, IssuerRevoked},
		{"c", true, 60, ""},
	} {
		if got := s.Fault(tc.key, tc.isEndorsed, tc.leaf, time.Unix(1, 0)); got != tc.want {
			t.Errorf("issuer %q at leaf %d: %q, want %q", tc.key, tc.leaf, got, tc.want)
		}
	}
	from := Order{Action: events.AuditRevoke, Issuer: "d", Selection: OrderSelection{From: time.Unix(100, 0)}}
	s.Add(70, from)
	for at, want := range map[int64]string{99: "", 100: IssuerRevoked} {
		if got := s.Fault("d", true, 5, time.Unix(at, 0)); got != want {
			t.Errorf("a grant of second %d: %q, want %q", at, got, want)
		}
	}
	if got := s.Trusted(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("trusted are %v", got)
	}
	if n := len(s.Orders()); n != 5 {
		t.Errorf("%d orders, want 5", n)
	}
}
