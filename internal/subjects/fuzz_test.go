package subjects

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func FuzzToken(f *testing.F) {
	for _, id := range awkward {
		f.Add(id)
	}
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, id string) {
		token, err := Token(id)
		if err != nil {
			return
		}
		if !isToken(token) {
			t.Fatalf("%q has the token %q", id, token)
		}
		if got, err := ParseToken(token); err != nil || got != id {
			t.Fatalf("%q comes back as %q, %v", id, got, err)
		}
		if name, err := FileName(id); err != nil || len(name) > 200 {
			t.Fatalf("%q has the file name %q, %v", id, name, err)
		}
	})
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsAny(s, ".*> \t\r\n\x00") && strings.ToValidUTF8(s, "") == s
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"hooktrail.ev.a.b.c.d", "hooktrail.chain.a.b", "hooktrail.ev.=.=2E.=C3=BC.tool=2Ebefore", "hooktrail.ev.=41.b.c.d", "hooktrail.ev.a.b.c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		var s Space
		a, err := s.Parse(subject)
		if err != nil {
			return
		}
		again, err := s.Event(a.Tenant, a.Producer, a.Run, a.Kind)
		if a.Manifest {
			again, err = s.Chain(a.Tenant, a.Producer)
		}
		if err != nil || again != subject {
			t.Fatalf("%q is parsed to %+v and built as %q, %v", subject, a, again, err)
		}
	})
}

func FuzzTenant(f *testing.F) {
	for i, id := range awkward {
		f.Add(id, "acme", "p", id, "tool.before")
		f.Add("acme", id, id, awkward[(i+1)%len(awkward)], "*")
	}
	f.Fuzz(func(t *testing.T, tenant, other, producer, run, kind string) {
		var s Space
		filters, err := s.Tenant(other)
		if err != nil {
			return
		}
		event, err := s.Event(tenant, producer, run, events.Kind(kind))
		if err != nil {
			return
		}
		chain, err := s.Chain(tenant, producer)
		if err != nil {
			t.Fatalf("an event has a subject, its chain has not: %v", err)
		}
		for _, subject := range []string{event, chain} {
			if reached := matches(filters[0], subject) || matches(filters[1], subject); reached != (tenant == other) {
				t.Fatalf("filters %q of %q and subject %q of %q: %t", filters, other, subject, tenant, reached)
			}
			if matches(s.AllEvents(), subject) == matches(s.AllChains(), subject) || matches(s.AllDeadLetters(), subject) {
				t.Fatalf("subject %q is on two branches, or on none", subject)
			}
		}
		a, err := s.Parse(event)
		if want := (Address{Tenant: tenant, Producer: producer, Run: run, Kind: events.Kind(kind)}); err != nil || a != want {
			t.Fatalf("got %+v, %v, want %+v", a, err, want)
		}
	})
}

func matches(filter, subject string) bool {
	want, got := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, token := range want {
		switch {
		case i >= len(got):
			return false
		case token == ">":
			return true
		case token != "*" && token != got[i]:
			return false
		}
	}
	return len(want) == len(got)
}
