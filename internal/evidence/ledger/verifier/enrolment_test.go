package verifier_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func trust(t *testing.T, f *ledgertest.Feed, key *writer.Key, action events.AuditAction, issuer string) {
	t.Helper()
	f.Order(t, key, ledger.Order{Action: action, Issuer: ledgertest.PublicKey(issuer)})
	f.Manifest("auditor/e1")
}

// endorsed returns the endorsement of the issuer "owner" for a tenant, or for all tenants.
func endorsed(t *testing.T, key *writer.Key, tenant string) string {
	t.Helper()
	signed, err := ledger.Endorsement{Issuer: ledgertest.PublicKey("owner"), Tenant: tenant, Time: ledgertest.Began}.Sign(key.Signer())
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func enrolled(t *testing.T, build func(f *ledgertest.Feed, key *writer.Key)) (r verifier.Report, producer verifier.Producer) {
	t.Helper()
	key := ledgertest.NewKey(t)
	f := ledgertest.NewFeed("acme")
	build(f, key)
	path := ledgertest.Write(t, t.TempDir(), key, f, 3)
	r = ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme"})
	required := ledgertest.Verify(t, path, key, verifier.Options{Tenant: "acme", RequireEnrolled: true})
	if len(r.NotEnrolled) > 0 && required.Exit != max(r.Exit, verifier.ExitIncomplete) {
		t.Errorf("exit %d, and %d with required enrolment", r.Exit, required.Exit)
	}
	i := slices.IndexFunc(r.Producers, func(p verifier.Producer) bool { return p.Name == "p" })
	if i < 0 || r.Integrity != verifier.Verified {
		t.Fatalf("report %+v", r)
	}
	return r, r.Producers[i]
}

//guarantee:enrolled
func TestEnrolment(t *testing.T) {
	acme, other := "acme", "globex"
	grant := func(g events.Grant) *events.Grant { return ledgertest.Grant("owner", g) }
	mine := events.Grant{Tenant: &acme, Producer: "p", Key: ledgertest.PublicKey("p")}
	with := func(change func(g *events.Grant)) events.Grant {
		g := mine
		change(&g)
		return g
	}
	give := func(g *events.Grant) func(f *ledgertest.Feed, key *writer.Key) {
		return func(f *ledgertest.Feed, key *writer.Key) {
			f.Sign("p")
			f.Give("p", g)
			f.Run("p", "r1", 2)
			trust(t, f, key, events.AuditIssuer, "owner")
			f.Run("p", "r2", 2)
		}
	}
	forged := grant(mine)
	forged.Producer = ""
	for _, tt := range []struct {
		name  string
		build func(f *ledgertest.Feed, key *writer.Key)
		fault string // "-" if the producer is enrolled
	}{
		{"Granted", give(grant(mine)), "-"},
		{"AnyTenantAndProducer", give(grant(with(func(g *events.Grant) { g.Tenant, g.Producer = nil, "" }))), "-"},
		{"BeforeItsEnd", give(grant(with(func(g *events.Grant) { g.Expires = ledgertest.Began.Add(time.Hour) }))), "-"},
		{"NoGrant", give(nil), ""},
		{"Forged", give(forged), "not signed"},
		{"OtherProducer", give(grant(with(func(g *events.Grant) { g.Producer = "q" }))), "another producer"},
		{"OtherTenant", give(grant(with(func(g *events.Grant) { g.Tenant = &other }))), "another tenant"},
		{"OtherKey", give(grant(with(func(g *events.Grant) { g.Key = ledgertest.PublicKey("q") }))), "another key"},
		{"Expired", give(grant(with(func(g *events.Grant) { g.Expires = ledgertest.Began }))), "expired"},
		{"UnknownIssuer", give(ledgertest.Grant("stranger", mine)), "unknown"},
		{"RevokedAfterwards", func(f *ledgertest.Feed, key *writer.Key) {
			give(grant(mine))(f, key)
			trust(t, f, key, events.AuditRevoke, "owner")
			f.Run("p", "r3", 2)
		}, "-"},
		{"RevokedBefore", func(f *ledgertest.Feed, key *writer.Key) {
			trust(t, f, key, events.AuditIssuer, "owner")
			trust(t, f, key, events.AuditRevoke, "owner")
			f.Enrol("p", "owner")
			f.Run("p", "r1", 2)
		}, "revoked"},
		{"OrderOfAnotherKey", func(f *ledgertest.Feed, _ *writer.Key) {
			f.Enrol("p", "owner")
			f.Run("p", "r1", 2)
			trust(t, f, ledgertest.NewKey(t), events.AuditIssuer, "owner")
		}, "unknown"},
		{"KeyChanged", func(f *ledgertest.Feed, key *writer.Key) {
			f.ChangeKey("p", "p-next")
			give(grant(mine))(f, key)
			f.Run("p", "r3", 2)
		}, "-"},
		{"InASecondManifest", func(f *ledgertest.Feed, key *writer.Key) {
			f.Sign("p")
			f.Run("p", "r0", 2)
			give(grant(mine))(f, key)
		}, "-"},
		{"Endorsed", func(f *ledgertest.Feed, key *writer.Key) {
			f.Sign("p")
			f.Give("p", grant(with(func(g *events.Grant) { g.Endorsed = endorsed(t, key, acme) })))
			f.Run("p", "r1", 2)
		}, "-"},
		{"EndorsedForAnotherTenant", func(f *ledgertest.Feed, key *writer.Key) {
			f.Sign("p")
			f.Give("p", grant(with(func(g *events.Grant) { g.Endorsed = endorsed(t, key, other) })))
			f.Run("p", "r1", 2)
		}, "unknown"},
		{"EndorsedByAnotherKey", func(f *ledgertest.Feed, _ *writer.Key) {
			f.Sign("p")
			f.Give("p", grant(with(func(g *events.Grant) { g.Endorsed = endorsed(t, ledgertest.NewKey(t), acme) })))
			f.Run("p", "r1", 2)
		}, "unknown"},
		{"EndorsedAndRevoked", func(f *ledgertest.Feed, key *writer.Key) {
			trust(t, f, key, events.AuditRevoke, "owner")
			f.Sign("p")
			f.Give("p", grant(with(func(g *events.Grant) { g.Endorsed = endorsed(t, key, "") })))
			f.Run("p", "r1", 2)
		}, "revoked"},
		{"AfterAFault", func(f *ledgertest.Feed, key *writer.Key) {
			give(forged)(f, key)
			f.Enrol("p", "owner")
			f.Run("p", "r3", 2)
		}, "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, p := enrolled(t, tt.build)
			if r.Completeness != verifier.Complete || r.Exit != verifier.ExitVerified || r.ForeignCount != 0 {
				t.Errorf("%s, exit %d, foreign %+v", r.Completeness, r.Exit, r.Foreign)
			}
			if p.Enrolled != (tt.fault == "-") || !p.Enrolled && !strings.Contains(p.GrantFault, tt.fault) || p.Enrolled && p.GrantFault != "" {
				t.Errorf("enrolment %+v, want fault %q", p.Enrolment, tt.fault)
			}
			if (tt.name == "InASecondManifest" || tt.name == "AfterAFault") == p.EnrolledFrom.IsZero() {
				t.Errorf("enrolled from %s", p.EnrolledFrom)
			}
			if slices.Contains(r.NotEnrolled, "p") == p.Enrolled || r.Enrolled+len(r.NotEnrolled) != len(r.Producers) {
				t.Errorf("%d enrolled, not enrolled %v", r.Enrolled, r.NotEnrolled)
			}
		})
	}
}

//guarantee:enrolled
func TestEnrolment_StrangerBegins(t *testing.T) {
	empty := events.Manifest{
		Version: 1, Tenant: "acme", Producer: "p", First: 1, Last: 9, Missing: []events.Range{{First: 1, Last: 9}},
		Root: events.BatchRoot(nil).String(),
	}
	stranger := ledgertest.ProducerKey("stranger")
	forged := empty
	forged.Grant = ledgertest.Grant("stranger", events.Grant{Producer: "p", Key: ledgertest.PublicKey("stranger")})
	replayed := empty
	replayed.Grant = ledgertest.Grant("owner", events.Grant{Producer: "p", Key: ledgertest.PublicKey("p")})
	for name, m := range map[string]events.Manifest{
		"Unsigned": empty, "Signed": ledgertest.Sign(empty, stranger), "ForgedGrant": ledgertest.Sign(forged, stranger),
		"ReplayedGrant": ledgertest.Sign(replayed, stranger),
	} {
		t.Run(name, func(t *testing.T) {
			r, p := enrolled(t, func(f *ledgertest.Feed, key *writer.Key) {
				trust(t, f, key, events.AuditIssuer, "owner")
				f.AddManifest(m)
				f.Enrol("p", "owner")
				f.Run("p", "r1", 3)
				f.Run("p", "r2", 3)
			})
			if !p.Enrolled || !p.EnrolledFrom.IsZero() || r.Completeness != verifier.Complete || r.ForeignCount != 1 || r.Exit != verifier.ExitIncomplete {
				t.Errorf("%s, exit %d, enrolment %+v, foreign %+v, gaps %+v", r.Completeness, r.Exit, p.Enrolment, r.Foreign, r.Gaps)
			}
		})
	}
}

//guarantee:producer-key
func TestEnrolment_ForgedKeyChange(t *testing.T) {
	for name, change := range map[string]func(f *ledgertest.Feed, m *events.Manifest){
		"Alone": func(*ledgertest.Feed, *events.Manifest) {},
		"Granted": func(f *ledgertest.Feed, m *events.Manifest) {
			m.Grant = ledgertest.Grant("owner", events.Grant{Tenant: &f.Tenant, Key: ledgertest.PublicKey("stranger")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, p := enrolled(t, func(f *ledgertest.Feed, key *writer.Key) {
				trust(t, f, key, events.AuditIssuer, "owner")
				f.Enrol("p", "owner")
				f.Run("p", "r1", 3)
				last, hash := lastManifest(f)
				m := events.Manifest{
					Tenant: "acme", Producer: "p", First: last.Last + 1, Last: last.Last, Prev: hash,
					Root: events.BatchRoot(nil).String(), Next: ledgertest.PublicKey("other"),
				}
				change(f, &m)
				f.AddManifest(ledgertest.Sign(m, ledgertest.ProducerKey("stranger")))
				f.Run("p", "r2", 3)
			})
			if !p.Enrolled || r.Completeness != verifier.Complete || r.ForeignCount != 1 || r.Exit != verifier.ExitIncomplete {
				t.Errorf("%s, exit %d, foreign %+v", r.Completeness, r.Exit, r.Foreign)
			}
		})
	}
}
