package subjects

import (
	"strings"
	"testing"
)

func TestGuardLookups(t *testing.T) {
	s := Space{Prefix: "a.b.", StreamPrefix: "A_"}
	tenant, err := TenantRoutes(s, "acme")
	if err != nil {
		t.Fatal(err)
	}
	guarded := 0
	for i, r := range GuardLookups(s, append(LocalRoutes(s), tenant...)) {
		if strings.HasPrefix(r.To, "$JS.") {
			t.Errorf("route %d leads to %s", i, r.To)
		}
		if strings.HasPrefix(r.To, guardedPrefix) {
			guarded++
		}
	}
	if guarded != 3 {
		t.Errorf("%d routes are guarded, want 3", guarded)
	}
}

//guarantee:chain-private
func TestChainLookup(t *testing.T) {
	s := Space{}
	for _, id := range awkward {
		chain, err := s.Chain(id, id)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := ChainLookup(s, guardedPrefix+chain); !ok || got != "$JS.API.DIRECT.GET.HOOKTRAIL_EV."+chain {
			t.Errorf("%q: got %s, %v", id, got, ok)
		}
	}
	for _, chain := range []string{
		"hooktrail.chain.>", "hooktrail.chain.acme.>", "hooktrail.chain.*.*", "hooktrail.chain.acme.*", "hooktrail.chain.*.p",
		"hooktrail.chain.acme", "hooktrail.chain.acme.p.q", "hooktrail.ev.acme.p.r.k", "hooktrail.chain", "",
	} {
		if got, ok := ChainLookup(s, guardedPrefix+chain); ok {
			t.Errorf("%s: got %s", chain, got)
		}
	}
	if _, ok := ChainLookup(s, "hooktrail.chain.acme.p"); ok {
		t.Error("accepted a subject that is not guarded")
	}
}
