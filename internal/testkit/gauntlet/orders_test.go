package gauntlet

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type orderAttack struct {
	attack

	of     string                                        // attack whose results are copied and attacked; empty means own ones
	give   func(s *orderTrial)                           // publishes orders
	change func(s *orderTrial, f *file)                  // changes the ledger's file
	missed func(s *orderTrial, r verifier.Report) string // describes what the report fails to say
	erased bool                                          // no byte of the payloads may be left
}

// orderTrial is a tenant with a secret run and a normal run.
type orderTrial struct {
	*streamTrial

	key   *key
	thief *key
	path  string
	last  ledger.Order // last order given
}

func (s *orderTrial) secret() []byte { return []byte("the secret of " + s.tenant + ";") }

// order signs an order like the auditor, resolved in the current ledger.
func (s *orderTrial) order(k *key, o ledger.Order) []byte {
	s.Helper()
	r, done := reader(s, s.path)
	defer done()
	foreign := o.Tenant
	o.Tenant = s.tenant
	o.ID, o.Time, o.By, o.Reason = events.NewID(), s.messages[0].Stored, "jdoe", "subject request"
	if o.Action == events.AuditErase || o.Action == events.AuditPrune || o.Action == events.AuditHold {
		var err error
		if o, err = r.Orders().Resolve(deadline(s), o); err != nil {
			s.Fatal(err)
		}
	}
	if foreign != "" {
		o.Tenant = foreign
	}
	signed, err := k.Sign(o)
	if err != nil {
		s.Fatal(err)
	}
	s.last = o
	return signed
}

func (s *orderTrial) give(action events.AuditAction, signed []byte) {
	s.Helper()
	send(s, s.mallory, s.tenant, "", events.AuditAccessed, events.AuditAccessedData{
		Action: action, By: "jdoe", Reason: "subject request", Order: string(signed),
	})
}

func (s *orderTrial) erase(k *key) {
	s.give(events.AuditErase, s.order(k, ledger.Order{Action: events.AuditErase, Selection: ledger.OrderSelection{Run: "secret"}}))
}

func (s *orderTrial) hold() ledger.Order {
	s.give(events.AuditHold, s.order(s.key, ledger.Order{Action: events.AuditHold, Selection: ledger.OrderSelection{Run: "secret"}}))
	return s.last
}

func (s *orderTrial) left() (found []string) {
	s.Helper()
	err := filepath.WalkDir(filepath.Dir(s.path), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, s.secret()) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return found
}

// orders runs each attack on fifty tenants, and attacks copies of the results.
func (g *gauntlet) orders(t *testing.T) {
	t.Helper()
	w := newWorld(t)
	honest, mallory := w.producer(t, "honest"), w.producer(t, "mallory")
	list := append(orderAttacks(), ruleAttacks()...)
	stage := make(map[string][]*orderTrial)
	for _, a := range list {
		r := g.random(a.name)
		if a.of != "" {
			continue
		}
		for trial := range trials {
			s := &orderTrial{streamTrial: &streamTrial{
				T: t, world: w, tenant: fmt.Sprintf("%s-%d", a.name, trial), honest: honest, mallory: mallory, random: r,
			}}
			s.path = w.ledger(t, s.tenant)
			s.publish()
			stage[a.name] = append(stage[a.name], s)
		}
	}
	flush(t, honest)
	all := w.everything(t)
	w.drain(t)
	key, thief := w.key(t), openKey(t, t.TempDir())
	for _, a := range list {
		for _, s := range stage[a.name] {
			s.messages, s.key, s.thief = all[s.tenant], key, thief
			if a.give != nil {
				a.give(s)
			}
		}
	}
	flush(t, mallory)
	w.drain(t)
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			list := stage[a.name]
			if a.of != "" {
				list = copies(t, stage[a.of], g.random(a.name))
			}
			g.verifyOrders(t, a, list)
		})
	}
}

func copies(t *testing.T, of []*orderTrial, r *rand.Rand) []*orderTrial {
	t.Helper()
	list := make([]*orderTrial, len(of))
	for i, s := range of {
		own, to := *s.streamTrial, *s
		own.T, own.random = t, r
		to.streamTrial, to.path = &own, copyFile(t, t.TempDir(), s.path)
		list[i] = &to
	}
	return list
}

func (s *orderTrial) publish() {
	s.Helper()
	for range 2 + s.random.IntN(4) {
		send(s, s.honest, s.tenant, "secret", events.PromptSubmit, events.PromptSubmitData{Prompt: string(s.secret())})
	}
	send(s, s.honest, s.tenant, "secret", events.RunFinished, events.RunFinishedData{Success: true})
	sendRun(s, s.honest, s.tenant, "open", 1+s.random.IntN(3))
}

func (g *gauntlet) verifyOrders(t *testing.T, a orderAttack, list []*orderTrial) {
	t.Helper()
	row := g.add(a.attack)
	for trial, s := range list {
		s.T = t
		kept := []byte(verify(t, s.path, s.tenant, s.key, nil).Checkpoint.Note)
		if a.change != nil {
			f := open(t, s.path)
			a.change(s, f)
			f.close(t)
		}
		r := row.verify(t, s.path, s.tenant, s.key, kept)
		if a.missed != nil {
			if missed := a.missed(s, r); missed != "" {
				t.Errorf("trial %d: %s", trial, missed)
			}
		}
		if left := s.left(); a.erased && len(left) > 0 {
			t.Errorf("trial %d: it is still in %q", trial, left)
		}
		row.check(t, trial, r)
	}
}
