package verifier

import (
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// Trusted is the result of comparing the ledger with a checkpoint that was stored outside the
// ledger.
type Trusted struct {
	From       string    `json:"from,omitempty"`     // anchor of the checkpoint; empty for --trusted
	Size       int64     `json:"size"`               // number of leaves
	Root       string    `json:"root"`               // hash of the tree, base64
	Time       time.Time `json:"time"`               // when it was signed
	Diverged   bool      `json:"diverged"`           // the ledger does not continue it
	Unusable   bool      `json:"unusable,omitempty"` // unreadable or signed by another key
	Absent     bool      `json:"absent,omitempty"`   // unusable, because nothing is stored yet
	WithLedger bool      `json:"beside,omitempty"`   // stored with the ledger, so a match proves nothing
	Reason     string    `json:"reason,omitempty"`   // why it diverged or is unusable
}

func (t *Trusted) diverge(reason string) { t.Diverged, t.Reason = true, reason }

// ErrNotStored means that a store outside the ledger, such as a bucket, has no checkpoint of the
// ledger yet.
var ErrNotStored = errors.New("no checkpoint of this ledger is stored there yet; the auditor stores the first one within seconds, " +
	"and its log says why if it cannot")

// Anchored is a checkpoint from a store outside the ledger, such as a bucket.
type Anchored struct {
	From string
	Note []byte
	Err  error

	// WithLedger means that the checkpoint is stored with the ledger, so an attacker could have
	// changed both.
	WithLedger bool
}

type trusted struct {
	ledger.Checkpoint
	found    Trusted
	given    bool
	signed   []byte
	cosigned []byte // nil without cosignatures
	compared bool
	foreign  bool // signed with another ledger's key, which counts as a divergence
}

func (o Options) trusted() (all []trusted, err error) {
	if o.Trusted != nil {
		c, signed, err := ReadTrusted(o.Trusted)
		if err != nil {
			return nil, err
		}
		if o.Tenant != "" && c.Tenant != o.Tenant {
			return nil, fmt.Errorf("trusted checkpoint is of tenant %q, not %q", c.Tenant, o.Tenant)
		}
		all = append(all, newTrusted("", c))
		all[0].given, all[0].signed = true, signed
	}
	for _, k := range o.Anchored {
		c, err, signed := ledger.Checkpoint{}, k.Err, ledger.TrimNote(k.Note)
		if err == nil {
			c, err = ledger.ReadCheckpoint(signed)
		}
		t := newTrusted(k.From, c)
		if err != nil {
			t.found = Trusted{From: k.From, Unusable: true, Absent: errors.Is(err, ErrNotStored), Reason: err.Error()}
		}
		t.found.WithLedger, t.signed = k.WithLedger, signed
		all = append(all, t)
	}
	if o.Witnessed != nil && o.Witnesses != nil {
		all = append(all, o.witnessed())
	}
	return all, nil
}

func newTrusted(from string, c ledger.Checkpoint) trusted {
	return trusted{Checkpoint: c, found: Trusted{From: from, Size: c.Size, Root: c.Root.String(), Time: c.Time}}
}

func (w *walk) compareTrusted() {
	w.facts.asOf = time.Time{}
	for i := range w.v.trusted {
		t := &w.v.trusted[i]
		if t.found.Unusable || t.foreign || w.arrivals.Count != t.Arrivals {
			continue
		}
		t.compared = true
		switch {
		case w.tree.size != t.Size || w.tree.root() != t.Root:
			t.found.diverge("the ledger's root there is another one")
		case w.arrivals.Digest != t.Digest:
			t.found.diverge("where the ledger's leaves came from, or what was seen again, is something else there")
		default:
			w.facts.asOf = later(w.facts.asOf, t.Time)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (v *verifier) concludeTrusted() {
	r := &v.report
	for i := range v.trusted {
		t := &v.trusted[i]
		if !t.found.Unusable && !t.foreign {
			if !t.compared {
				t.found.diverge(fmt.Sprintf("the ledger ends before it, with %d leaves", r.Leaves))
			}
			if t.Arrivals == v.newest.Arrivals && t.Position.After(v.newest.Position) {
				t.found.diverge("the ledger ends before it, and does not say that the stream broke off")
			}
			if v.newest.Tenant != t.Tenant {
				t.found.diverge(fmt.Sprintf("it is of tenant %q", t.Tenant))
			}
		}
		switch {
		case t.given:
			r.Trusted = &t.found
		case t.cosigned == nil || t.found.Diverged:
			r.Anchored = append(r.Anchored, t.found)
		}
	}
	v.concludeWitnesses()
}

func (r *Report) trusts() (found, diverged bool) {
	if r.Trusted != nil {
		found, diverged = true, r.Trusted.Diverged
	}
	for _, k := range r.Anchored {
		found, diverged = found || !k.Unusable && !k.WithLedger, diverged || k.Diverged
	}
	return found, diverged
}
