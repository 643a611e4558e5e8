package writer_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type ruled struct {
	*testing.T

	dir, path string
	key       *writer.Key
	feed      *ledgertest.Feed
}

func newRuled(t *testing.T, orders ...ledger.Order) *ruled {
	t.Helper()
	r := &ruled{T: t, dir: t.TempDir(), key: ledgertest.NewKey(t), feed: ledgertest.NewFeed("acme")}
	r.feed.Secretive("coder/e4", "r-1", "jane", 3)
	for _, o := range orders {
		r.feed.Order(t, r.key, o)
	}
	r.path = ledgertest.Write(t, r.dir, r.key, r.feed, 100)
	return r
}

// check appends the new messages of the feed and compares the effects of all orders.
func (r *ruled) check(erased int64, effects ...ledger.Effect) verifier.Report {
	r.Helper()
	ledgertest.Continued(r, r.dir, r.key, r.feed, 2)
	report := ledgertest.Checked(r, r.path, r.key)
	var got []ledger.Effect
	for _, o := range report.Redacted.Orders {
		got = append(got, o.Effect)
	}
	if report.Integrity != verifier.Verified || report.Redacted.Erased+report.Redacted.Pruned != erased || fmt.Sprint(got) != fmt.Sprint(effects) {
		r.Fatalf("%s, %d removed, effects %v, want %d, %v: %v", report.Integrity, report.Redacted.Erased+report.Redacted.Pruned, got, erased, effects, report.Problems)
	}
	return report
}

func (r *ruled) erase() ledger.Order {
	return ledgertest.Resolved(r, r.path, ledgertest.EraseRun("r-1"))
}

func (r *ruled) prune(to time.Time) ledger.Order {
	return ledgertest.Resolved(r, r.path, ledger.Order{Action: events.AuditPrune, Selection: ledger.OrderSelection{Kind: "prompt.*", To: to}})
}

func floorOf(d time.Duration) ledger.Order { return ledger.Order{Action: events.AuditFloor, Floor: d} }

const (
	done, proposed, expired = ledger.EffectDone, ledger.EffectProposed, ledger.EffectExpired
	belowFloor, void        = ledger.EffectFloor, ledger.EffectVoid
)

//guarantee:floor
func TestFloor(t *testing.T) {
	r := newRuled(t, floorOf(24*time.Hour))
	f := r.feed
	f.Order(t, r.key, r.prune(f.Now.Add(time.Hour)))
	r.check(0, done, belowFloor)
	rules := []ledger.RetentionRule{{Kind: "*", Age: time.Second}}
	reader, err := ledger.OpenReader(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if orders, err := reader.Orders().Expired(t.Context(), rules, f.Now.Add(24*time.Hour)); err != nil || len(orders) > 0 {
		t.Errorf("retention would prune %v, %v", orders, err)
	}
	// Now the records are old enough to prune.
	f.Now = f.Now.Add(25 * time.Hour)
	orders, err := reader.Orders().Expired(t.Context(), rules, f.Now)
	if err != nil || len(orders) != 1 || f.Now.Sub(orders[0].Selection.To) < 24*time.Hour {
		t.Fatalf("retention prunes %+v, %v", orders, err)
	}
	f.Order(t, r.key, orders[0])
	report := r.check(3, done, belowFloor, done)
	if in := report.Redacted.Rules; len(in) != 1 || !in[0].InForce || in[0].Rule != "retention floor 1d" {
		t.Errorf("rules %+v", in)
	}
	// The floor does not block an erasure. A lowered floor stays in the report.
	f.Secretive("coder/e4", "r-2", "jane", 2)
	r.path = ledgertest.Write(t, r.dir, r.key, f, 100)
	f.Order(t, r.key, ledgertest.Resolved(t, r.path, ledgertest.EraseRun("r-2")))
	f.Order(t, r.key, floorOf(0))
	report = r.check(5, done, belowFloor, done, done, done)
	if in := report.Redacted.Rules; len(in) != 2 || in[1].InForce || in[1].Rule != "no retention floor" || in[1].By != "jdoe" {
		t.Errorf("rules %+v", in)
	}
}

//guarantee:second-person
func TestSecondPerson(t *testing.T) {
	amy, bob := ledgertest.NewPerson(t, "amy"), ledgertest.NewPerson(t, "bob")
	r := newRuled(t, ledgertest.SecondPerson(amy, bob))
	f := r.feed
	f.Order(t, r.key, r.erase())
	report := r.check(0, done, proposed)
	if w := report.Redacted.Waiting; len(w) != 1 || !w[0].Expires.Equal(w[0].Time.Add(time.Hour)) {
		t.Errorf("waiting %+v", w)
	}
	f.Approve(t, r.key, bob)
	f.Approve(t, r.key, bob) // a third signature
	report = r.check(3, done, done)
	if len(report.Redacted.Waiting) != 0 || report.Redacted.Orders[1].Approver != "bob" {
		t.Errorf("waiting %+v, orders %+v", report.Redacted.Waiting, report.Redacted.Orders)
	}
	if found := ledgertest.Remains(t, r.dir, ledgertest.Secret("r-1")); len(found) > 0 {
		t.Errorf("still there: %v", found)
	}
	// Two signatures end the rule. A hold needs one, and its lift two.
	f.Order(t, r.key, ledger.Order{Action: events.AuditApprovers})
	h := f.Order(t, r.key, ledger.Order{Action: events.AuditHold, Selection: ledger.OrderSelection{Run: "r-9"}})
	f.Order(t, r.key, ledger.Order{Action: events.AuditLift, Hold: h.ID})
	r.check(3, done, done, proposed, done, proposed)
	f.Approve(t, r.key, amy)
	f.Order(t, r.key, ledger.Order{Action: events.AuditApprovers})
	f.Approve(t, r.key, amy)
	f.Order(t, r.key, ledger.Order{Action: events.AuditLift, Hold: h.ID})
	report = r.check(3, done, done, proposed, done, done, done, void)
	if in := report.Redacted.Rules; len(in) != 2 || in[0].InForce || in[1].InForce {
		t.Errorf("rules %+v", in)
	}
}

//guarantee:second-person
func TestSecondPerson_NotApproved(t *testing.T) {
	amy, jdoe, eve := ledgertest.NewPerson(t, "amy"), ledgertest.NewPerson(t, "JDoe"), ledgertest.NewPerson(t, "amy")
	for name, attack := range map[string]func(r *ruled) ledger.Effect{
		"stranger with the name": func(r *ruled) ledger.Effect { r.feed.Approve(r, r.key, eve); return proposed },
		"proposer":               func(r *ruled) ledger.Effect { r.feed.Approve(r, r.key, jdoe); return proposed },
		"ledger's key": func(r *ruled) ledger.Effect {
			r.feed.Approve(r, r.key, ledgertest.Person{Signer: r.key.Signer()})
			return proposed
		},
		"too late": func(r *ruled) ledger.Effect {
			r.feed.Approve(r, r.key, amy)
			last := &r.feed.Messages[len(r.feed.Messages)-1]
			last.Stored = last.Stored.Add(2 * time.Hour)
			return expired
		},
		"another ledger's order": func(r *ruled) ledger.Effect {
			stranger := ledgertest.NewKey(r)
			o := ledgertest.EraseRun("r-1")
			r.feed.Order(r, stranger, o)
			r.feed.Approve(r, stranger, amy)
			return proposed
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuled(t, ledgertest.SecondPerson(amy, jdoe))
			r.feed.Order(t, r.key, r.erase())
			want := attack(r)
			r.check(0, done, want)
		})
	}
	t.Run("approver has the ledger's key", func(t *testing.T) {
		r := newRuled(t)
		_, public, _ := strings.Cut(r.key.Public(), "+")
		_, raw, _ := strings.Cut(public, "+")
		named, signer := sameKey(t, r.key, raw)
		r.feed.Order(t, r.key, ledgertest.SecondPerson(ledgertest.Person{Key: named}))
		r.feed.Order(t, r.key, r.erase())
		r.feed.Approve(t, r.key, ledgertest.Person{Signer: signer})
		r.check(0, done, proposed)
	})
}

// renamed signs with the ledger's key under the name of a person.
type renamed struct {
	note.Signer

	name string
	hash uint32
}

func (r renamed) Name() string    { return r.name }
func (r renamed) KeyHash() uint32 { return r.hash }

func sameKey(tb testing.TB, key *writer.Key, raw string) (text string, signer note.Signer) {
	tb.Helper()
	data, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		tb.Fatal(err)
	}
	if text, err = note.NewEd25519VerifierKey("amy", data[1:]); err != nil {
		tb.Fatal(err)
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		tb.Fatal(err)
	}
	return text, renamed{key.Signer(), "amy", v.KeyHash()}
}

//guarantee:second-person
//guarantee:floor
func TestRules_Bypassed(t *testing.T) {
	amy := ledgertest.NewPerson(t, "amy")
	for name, rule := range map[string]ledger.Order{"order without approval": ledgertest.SecondPerson(amy), "prune below the floor": floorOf(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			r := newRuled(t, rule)
			o := r.erase()
			if rule.Action == events.AuditFloor {
				o = r.prune(r.feed.Now.Add(time.Minute))
			}
			r.feed.Order(t, r.key, o)
			effect := proposed
			if rule.Action == events.AuditFloor {
				effect = belowFloor
			}
			report := r.check(0, done, effect)
			leaf := report.Redacted.Orders[1].Leaf
			word := ledger.WordOf(o.Action)
			var statements []string
			for _, span := range o.Leaves {
				for l := span.First; l <= span.Last; l++ {
					statements = append(statements, fmt.Sprintf("DELETE FROM payloads WHERE leaf = %d; INSERT INTO erased VALUES (%d, '%s', %d)", l, l, word, leaf))
				}
			}
			statements = append(statements, "UPDATE orders SET effect = 'done'")
			path, ok := ledgertest.Attack(t, r.path, statements...)
			if !ok {
				t.Fatal("refused")
			}
			if got := ledgertest.Checked(t, path, r.key); got.Exit != verifier.ExitInvalid {
				t.Errorf("got %s, exit %d", got.Integrity, got.Exit)
			}
		})
	}
}
