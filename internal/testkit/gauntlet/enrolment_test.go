package gauntlet

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

type enrolAttack struct {
	attack

	auth    broker.AuthMode
	require bool // verify requires enrolment
	// before and after run around the honest producer's first event.
	before, after func(e *enrolTrial, g *guest)
	foreign       int64 // records
	stranger      bool  // a producer that is not enrolled
}

type enrolTrial struct {
	tenant, producer string
	issuer           *publish.Issuer // of the honest data directory
	r                *rand.Rand
}

const notEnrolled = "VERIFIED, COMPLETE, NOT ENROLLED (11)"

func enrolAttacks() []enrolAttack {
	own := "a producer of the attacker's own contributes to a run"
	return []enrolAttack{
		{
			attack: attack{name: "StrangerBegins", what: "a stranger begins the chain of a producer before it", has: "no credentials", alone: foreignVerdict, seen: "each foreign record"},
			auth:   broker.AuthOpen, require: true, before: (*enrolTrial).begin, foreign: 1,
		},
		{
			attack: attack{name: "OwnProducerGuest", what: own + ", `--require-enrolled`", has: "no credentials", alone: notEnrolled, seen: "the producer"},
			auth:   broker.AuthOpen, require: true, after: (*enrolTrial).contribute, stranger: true,
		},
		{
			attack: attack{name: "OwnProducerNamed", what: own + ", no flag", has: "no credentials", alone: "VERIFIED, COMPLETE (0)", seen: "the producer as not enrolled"},
			auth:   broker.AuthOpen, after: (*enrolTrial).contribute, stranger: true,
		},
		{
			attack: attack{name: "OwnProducerEngine", what: own + ", `--require-enrolled`", has: "an engine's key", alone: notEnrolled, seen: "the producer"},
			auth:   broker.AuthRequired, require: true, after: (*enrolTrial).contribute, stranger: true,
		},
		{
			attack: attack{
				name: "GrantAbused", what: "a grant forged, expired, or of another producer, tenant or key, `--require-enrolled`", has: "no credentials",
				alone: notEnrolled, seen: "the producer, and why its grant does not count",
			},
			auth: broker.AuthOpen, require: true, after: (*enrolTrial).abuseGrant, stranger: true,
		},
		{
			attack: attack{name: "KeyChangeForged", what: "a change of a producer's key by a stranger", has: "no credentials", alone: foreignVerdict, seen: "each foreign record"},
			auth:   broker.AuthOpen, require: true, after: (*enrolTrial).changeKey, foreign: 1,
		},
	}
}

func (g *gauntlet) enrolment(t *testing.T) {
	t.Helper()
	for _, auth := range []broker.AuthMode{broker.AuthOpen, broker.AuthRequired} {
		w := newEmbeddedWorld(t, auth)
		w.drain(t) // makes the key and endorses the issuer
		path, err := broker.IssuerKey(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		issuer, err := publish.OpenIssuer(path)
		if err != nil {
			t.Fatal(err)
		}
		honest, err := publish.Open(deadline(t), w.broker.Conn(), publish.Options{
			Dir: t.TempDir(), Name: "honest", Redactor: publish.NoRedaction, Issuer: path,
		})
		if err != nil {
			t.Fatal(err)
		}
		list := slices.DeleteFunc(enrolAttacks(), func(a enrolAttack) bool { return a.auth != auth })
		step := func(step func(a enrolAttack) func(e *enrolTrial, g *guest)) {
			for _, a := range list {
				r := g.random(a.name)
				for _, tenant := range tenants(a.name) {
					if do := step(a); do != nil {
						guest := w.guest(t, auth, tenant)
						do(&enrolTrial{tenant: tenant, producer: honest.Stats().Producer, issuer: issuer, r: r}, guest)
						guest.nc.Close()
					}
				}
			}
		}
		step(func(a enrolAttack) func(*enrolTrial, *guest) { return a.before })
		for _, run := range []string{"run", "later"} {
			for _, a := range list {
				for _, tenant := range tenants(a.name) {
					sendRun(t, honest, tenant, run, 2)
				}
			}
			flush(t, honest)
			if run == "run" {
				step(func(a enrolAttack) func(*enrolTrial, *guest) { return a.after })
			}
		}
		producer := honest.Stats().Producer
		if err := honest.Close(deadline(t)); err != nil {
			t.Fatal(err)
		}
		w.drain(t)
		for _, a := range list {
			t.Run(a.name, func(t *testing.T) { g.checkEnrolment(t, w, a, producer) })
		}
	}
}

func (g *gauntlet) checkEnrolment(t *testing.T, w *world, a enrolAttack, producer string) {
	t.Helper()
	row := g.add(a.attack)
	for n, tenant := range tenants(a.name) {
		r, err := verifier.Verify(deadline(t), w.ledger(t, tenant), verifier.Options{Key: w.key(t).verifier, Tenant: tenant, RequireEnrolled: a.require})
		if err != nil {
			t.Fatal(err)
		}
		if r.ForeignCount != a.foreign || slices.Contains(r.NotEnrolled, producer) || (len(r.NotEnrolled) > 0) != a.stranger || r.Enrolled != 1 {
			t.Errorf("trial %d: %d enrolled, not %v, foreign %+v", n, r.Enrolled, r.NotEnrolled, r.Foreign)
		}
		row.compare(t, pyverify.Request{Path: r.Ledger, Key: w.key(t).Public(), Tenant: tenant, RequireEnrolled: a.require}, r)
		row.check(t, n, r)
	}
}

func (e *enrolTrial) begin(g *guest) {
	g.Helper()
	m := events.Manifest{
		Version: 1, Tenant: e.tenant, Producer: e.producer, First: 1, Last: 1 + e.r.Uint64N(20), Root: events.BatchRoot(nil).String(),
	}
	m.Missing = []events.Range{{First: 1, Last: m.Last}}
	if e.r.IntN(3) > 0 {
		if e.r.IntN(2) == 0 {
			m.Grant = e.abused(g, ledgertest.PublicKey("stranger"), e.producer)
		}
		m = ledgertest.Sign(m, ledgertest.ProducerKey("stranger"))
	}
	subject, err := g.space.Chain(e.tenant, e.producer)
	g.publish(subject, m.Encode(), err)
}

// abused returns a forged or expired grant, or one of another tenant, producer or key.
func (e *enrolTrial) abused(g *guest, key, producer string) *events.Grant {
	g.Helper()
	tenant, expires := e.tenant, time.Time{}
	way := e.r.IntN(5)
	switch way {
	case 1:
		tenant += "-other"
	case 2:
		producer += "-other"
	case 3:
		key = ledgertest.PublicKey("other")
	case 4:
		expires = time.Now().Add(-time.Minute)
	}
	grant, err := e.issuer.Grant(tenant, producer, key, expires)
	if err != nil {
		g.Fatal(err)
	}
	if way == 0 {
		grant.Issued = grant.Issued.Add(time.Second)
	}
	return &grant
}

func (e *enrolTrial) contribute(g *guest) {
	g.Helper()
	p, err := publish.Open(deadline(g), g.nc, publish.Options{Dir: g.TempDir(), Name: "stranger", Redactor: publish.NoRedaction})
	if err != nil {
		g.Fatal(err)
	}
	sendRun(g, p, e.tenant, "run", e.r.IntN(3))
	if err := p.Close(deadline(g)); err != nil {
		g.Fatal(err)
	}
}

func (e *enrolTrial) abuseGrant(g *guest) {
	g.Helper()
	f := ledgertest.NewFeed(e.tenant)
	f.Now = time.Now()
	f.Sign("stranger")
	f.Give("stranger", e.abused(g, ledgertest.PublicKey("stranger"), "stranger"))
	f.Run("stranger", "run", 1+e.r.IntN(3))
	for _, m := range f.Messages {
		subject, err := g.space.Event(e.tenant, "stranger", m.Address.Run, m.Address.Kind)
		if m.Address.Manifest {
			subject, err = g.space.Chain(e.tenant, "stranger")
		}
		g.publish(subject, m.Data, err)
	}
}

// changeKey adds a manifest that changes to the attacker's key.
func (e *enrolTrial) changeKey(g *guest) {
	g.Helper()
	last, prev := g.lastManifest(e.tenant, e.producer)
	m := events.Manifest{
		Tenant: e.tenant, Producer: e.producer, First: last + 1, Last: last, Prev: prev, Root: events.BatchRoot(nil).String(),
		Next: ledgertest.PublicKey("stranger's next"),
	}
	if e.r.IntN(2) == 0 {
		m.Grant = e.abused(g, ledgertest.PublicKey("stranger"), e.producer)
	}
	m = ledgertest.Sign(m, ledgertest.ProducerKey("stranger"))
	subject, err := g.space.Chain(e.tenant, e.producer)
	g.publish(subject, m.Encode(), err)
}
