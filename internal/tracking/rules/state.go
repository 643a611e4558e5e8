package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Tenant is what is kept per tenant.
type Tenant struct {
	Clock    time.Time   `json:"clock,omitzero"` // the latest event time that is no mistake
	Far      far         `json:"far,omitzero"`
	Behind   int         `json:"behind,omitempty"` // events in a row that were far behind the clock
	Count    uint64      `json:"count"`            // considered events
	Created  []time.Time `json:"created,omitempty"`
	Critical []time.Time `json:"critical,omitempty"`
	Tracking []time.Time `json:"tracking,omitempty"`
	Digest   string      `json:"digest,omitempty"`  // id of the latest digest
	Digests  int         `json:"digests,omitempty"` // how many there were
}

var tenants = table[Tenant]{"tenant", func(t *Tenant) {
	t.Created, t.Critical, t.Tracking = slices.Clone(t.Created), slices.Clone(t.Critical), slices.Clone(t.Tracking)
}}

// register is the one record that belongs to no tenant: who there is.
type register struct {
	Tenants []string `json:"tenants"` // sorted
}

var registers = table[register]{"tenants", func(r *register) { r.Tenants = slices.Clone(r.Tenants) }}

// Considered reports whether events of kind k are decided on.
func Considered(k events.Kind) bool {
	return strings.HasPrefix(string(k), "run.") || k == events.StepFinished || k == events.Error ||
		k == events.IssueEdited || k == events.ClockTicked
}

// Apply folds e into s and returns the decisions that it brings: the one on e,
// if e is considered and was not decided on before, unless e is held; and those
// on what was held until e moved the clock. It fails if the store does, or if the
// data of e is not of its kind: then nothing changed.
func (s *State) Apply(e events.Event, c Config) (decisions []Decision, err error) {
	if e.Kind() == events.IssueDecided {
		return nil, nil
	}
	err = s.atomically(func() error {
		p := &pass{state: s, config: c, hash: c.Hash(), tenant: e.Tenant}
		err := p.apply(e)
		decisions = p.decisions
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", e.Kind(), e.ID, err)
	}
	return decisions, nil
}

// Release ends what is held, as the passing of time would, and does nothing
// else: there will be no more events.
func (s *State) Release(c Config) (decisions []Decision, err error) {
	err = s.atomically(func() error {
		r := registers.get(s, "", "")
		if r == nil {
			return nil
		}
		for _, tenant := range r.Tenants {
			p := &pass{state: s, config: c, hash: c.Hash(), tenant: tenant, ending: true, decisions: decisions}
			p.release()
			decisions = p.decisions
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return decisions, nil
}

// pass is the work on one event: on what time does before it, and on itself.
type pass struct {
	state     *State
	config    Config
	hash      string // of config
	tenant    string
	now       time.Time // the tenant's clock; of what time does, when it was due
	ending    bool      // there will be no more events
	decisions []Decision
}

// clock returns the tenant's record, to be changed.
func (p *pass) clock() *Tenant { return tenants.edit(p.state, p.tenant, "") }

func (p *pass) apply(e events.Event) error {
	considered := Considered(e.Kind())
	if considered && p.decided(e) {
		return nil
	}
	p.register()
	t := p.clock()
	t.move(e, p.config.Leap)
	f := p.fold(e, Stamp{At: t.take(e)})
	due := p.endHolds(t.Clock)
	p.now = latest(t.Clock, f.stamp.At)
	p.alive(e, f.stamp.At)
	if !considered {
		f.runDue(due)
		if len(f.decision.Effects) > 0 {
			p.give(f)
		}
		return nil
	}
	t.Count++
	f.stamp.N = t.Count
	m := marks.edit(p.state, p.tenant, p.markID(e.ID, e.Source))
	m.Source, m.Seen = e.Source, true
	if err := f.decide(); err != nil {
		return err
	}
	if f.held != "" {
		p.putOff(due)
		return nil
	}
	f.runDue(due)
	p.give(f)
	return nil
}

// register notes that there is the tenant.
func (p *pass) register() {
	r := registers.get(p.state, "", "")
	if r != nil {
		if _, known := slices.BinarySearch(r.Tenants, p.tenant); known {
			return
		}
	}
	r = registers.edit(p.state, "", "")
	i, _ := slices.BinarySearch(r.Tenants, p.tenant)
	r.Tenants = slices.Insert(r.Tenants, i, p.tenant)
}

// give completes a decision and takes it among those that the pass brings.
func (p *pass) give(f *fold) {
	f.settleEdits()
	p.decisions = append(p.decisions, f.finish())
}
